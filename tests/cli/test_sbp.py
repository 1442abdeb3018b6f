"""`ep sbp`: the chosen signatures, the bytes that they move, and errors."""

import pytest

from ep.cli import sbp_plot
from ep.sbp import parse_many

TABLE = ("sbp", "gather", "--params", "S(0)", "--shape", "50257x768", "--ranks", "4")


def test_a_table_that_is_split_by_rows(ep):
    done = ep(*TABLE, "--indices", "B")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert lines[0].startswith(
        "gather of 50257 x 768 and 1024 on 4 ranks: S(0), B -> P, which moves 0 now and 9.4 MB before the result can "
        "be read: no other moves less, and of those that move as much it is listed first, before P, B -> P"
    )
    assert lines[1] == "signature moved later how"
    assert lines[2] == "S(0), B -> P 0 9.4 MB later out P to S(0) by reduce-scatter"
    assert "S(1), B -> S(1) 115.8 MB 0 params S(0) to S(1) by all-to-all" in lines
    assert "B, S(0) -> S(0) 463.2 MB 0 params S(0) to B by all-gather, indices B to S(0) locally" in lines


def test_where_the_result_is_wanted(ep):
    out = ep(*TABLE, "--shape", "indices=8x128", "--out", "B").out
    assert "S(0), B -> P, which moves 18.9 MB: no other moves less, and of those that move as much" in out
    assert "out P to B by all-reduce" in out


def test_a_mesh_of_two_axes(ep):
    done = ep("sbp", "gather", "--params", "S(0),S(1)", "--shape", "50257x768", "--ranks", "2x4")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    chosen = "S(0), B -> P; S(1), B -> S(1)"
    assert f"on 2 x 4 ranks: {chosen}, which moves 0 now and 3.1 MB before the result can be read: no" in lines[0]
    assert lines[2] == f"{chosen} 0 3.1 MB later out P to S(0) by reduce-scatter along axis 0"
    assert len(lines) == 2 + 7 * 7


def test_json(ep):
    found = ep(*TABLE, "--format", "json").json()
    assert [one["signature"] for one in found if one["chosen"]] == ["S(0), B -> P"]
    assert len(found) == 7


def test_other_operators(ep):
    expand = ep("sbp", "expand", "--shape", "1x4", "--attribute", "sizes=(8,4)", "--ranks", "2", "--out", "S(0)")
    assert "B -> S(0), which moves 0" in expand.out
    concat = ("sbp", "concat", "--arrays", "S(0)", "--arrays", "S(1)", "--shape", "6x4", "--ranks", "2")
    assert "S(0), S(0) -> S(0), which moves 48 bytes" in ep(*concat, "--attribute", "axis=1", "--out", "S(0)").out
    assert "PMax, B -> PMax" in ep("sbp", "add", "--x", "PMax", "--shape", "5", "--ranks", "3").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--params", "S(2)"], "input 0 of shape (50257, 768) has no axis 2 to be split along"),
        (["--params", "S"], "'S' is not an SBP; it must be S(axis)"),
        (["--params", "S(0),B"], "--params S(0),B is for a mesh of 2 axes, and --ranks has 1"),
        (["--shape", "table=4"], "gather has no input 'table'; it has params, indices"),
        (["--shape", "4,5"], "'4,5' must be sizes with x between"),
        (["--attribute", "axis=3"], "gather: axis is 3"),
        (["--attribute", "axes=3"], "unexpected keyword argument 'axes'"),
        (["--ranks", "two"], "'two' must be sizes"),
    ],
)
def test_wrong_arguments(ep, arguments, words):
    done = ep(*TABLE, *arguments)
    if arguments[0] == "--params":
        done = ep("sbp", "gather", "--shape", "50257x768", "--ranks", "4", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.splitlines()[-1] == "Try 'ep sbp gather --help'."


@pytest.mark.parametrize(
    "command",
    [
        ("gather", "--params", "S(0)", "--shape", "503x77", "--ranks", "3"),
        ("add", "--x", "S(0),B", "--y", "S(0),S(1)", "--shape", "7x5", "--ranks", "2x3"),
        ("concat", "--arrays", "S(0)", "--arrays", "S(0)", "--shape", "6x4", "--ranks", "2"),
        ("relu", "--x", "B", "--shape", "0", "--ranks", "4"),
    ],
    ids=lambda command: command[0],
)
def test_drawings(ep, command, tmp_path):
    path = tmp_path / "drawing.svg"
    done = ep("sbp", *command, "--plot", str(path))
    assert (done.code, done.err) == (0, "")
    assert path.read_text().count("<path") > 4
    done = ep("sbp", *command[:-1], "17", "--plot", str(tmp_path / "none.svg"))
    assert done.code != 0


def test_where_pieces_are_drawn():
    places, mesh = parse_many("S(0),S(0)"), (2, 3)
    parts = [sbp_plot._extents((12, 5), places, mesh, (i, j)) for i in range(2) for j in range(3)]
    assert [part[0] for part in parts] == [(k / 6, 1 / 6) for k in range(6)]
    assert all(part[1] == (0, 1) for part in parts)
    assert sbp_plot._extents((0,), parse_many("S(0)"), (2,), (1,)) == [(0, 0)]
    assert sbp_plot._drawn_axes((2, 3, 4), parse_many("S(2)")) == (0, 2)
    assert sbp_plot._drawn_axes((2,), parse_many("B")) == (None, 0)
    assert sbp_plot._drawn_axes((), parse_many("B")) == (None, None)
    assert [sbp_plot._kind(parse_many(one)) for one in ("P,B", "S(0),B", "B,B")] == ["partial", "split", "all of it"]


def test_a_drawing_that_cannot_be_made(ep, tmp_path):
    for more, words in (
        (("--ranks", "17", "--plot", str(tmp_path / "a.svg")), "17 ranks are too many to draw"),
        (("--ranks", "2", "--plot", str(tmp_path / "a.txt")), "must end in one of"),
    ):
        done = ep("sbp", "relu", "--x", "S(0)", "--shape", "34", *more)
        assert done.code == 1
        assert words in done.err
    assert not [*tmp_path.iterdir()]
