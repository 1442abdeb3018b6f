"""The drawing of a program."""

import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import ep
from ep.run.layers import Edge, Layout, longest_paths
from tests.fuse.expressions import COLUMNS, EXPRESSIONS, ROWS

_SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(root):
    """Return (class, left, top, right, bottom) of each box but the page."""
    found = []
    for rect in root.iter(f"{_SVG}rect"):
        x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        if rect.get("class"):
            found.append((rect.get("class"), x, y, x + width, y + height))
    return found


def check(explanation):
    """Check that a drawing has the whole content of the text, in boxes that are disjoint or within a kernel; return its
    texts.
    """
    root = ElementTree.fromstring(explanation.svg())
    texts = ["".join(one.itertext()) for one in root.iter(f"{_SVG}text")]
    boxes = boxes_of(root)
    steps = re.findall(r"^(\d+: [a-z ]+?) of (.+); reads (\d+) bytes, writes (\d+)$", str(explanation), re.MULTILINE)
    drawn = [re.split(r"[(\[]", text)[0] for text in texts]
    for title, operators, read, written in steps:
        assert title in texts
        assert f"reads {read} bytes, writes {written}" in texts
        for name in operators.split():
            assert name in drawn
    assert sum(kind == "op" for kind, *_ in boxes) == sum(len(step[1].split()) for step in steps)
    kernels = [box for box in boxes if box[0] in ("kernel", "alone")]
    assert len(kernels) == len(steps)
    for k, (kind, left, top, right, bottom) in enumerate(boxes):
        for other_kind, *other in boxes[k + 1 :]:
            apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
            within = left <= other[0] and other[2] <= right and top <= other[1] and other[3] <= bottom
            is_part = kind in ("kernel", "alone") and other_kind in ("op", "read")
            assert apart or (is_part and within), (kind, other_kind)
    return texts


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_each_kernel_and_operator_is_drawn(name, rng):
    expression = EXPRESSIONS[name]
    fused = ep.fuse(lambda *arrays: expression.function(ep.ops, *arrays))
    check(fused.explain(*expression.draw(rng, ROWS, COLUMNS)))


def test_the_launches_of_an_operator_are_shown():
    """With the memory between them; those of kernels, which are one launch each, are not."""
    softmax = ep.fuse(lambda x: ep.ops.softmax(x, axis=1) + 1)
    said = softmax.explain(np.ones((3, 5, 7), np.float32))
    assert said.splitlines()[2:-1] == [
        "   c0 = as_buffer(x)",
        "   t1 = empty((3, 7, 5), float32)",
        "   Permute(float32, (3, 5, 7), c0, (0, 2, 1), t1)",
        "   Softmax(21, 5, t1, t1)",
        "   t2 = empty((3, 5, 7), float32)",
        "   Permute(float32, (3, 7, 5), t1, (0, 2, 1), t2)",
    ]
    assert "launches Permute, Softmax, Permute" in " ".join(check(said))


def test_types_reasons_constants_and_names_of_arguments():
    @ep.fuse
    def f(x, w):
        return ep.ops.exp(x @ w) * 2.5, ep.ops.split(x, 2, axis=1)

    texts = check(f.explain(np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)))
    for text in ("x", "w", "float32 (3, 4)", "float32 (4, 5)", "mul(·, 2.5)", "result 0", "result 2"):
        assert text in texts
    assert "alone: split is not a map" in " ".join(texts)
    assert any("product kernel" in text for text in texts)


def test_a_prompt_shows_the_lines(capsys):
    """As Python's and IPython's prompts show a value; a notebook has the drawing as well."""

    def f(x, w):
        return ep.ops.exp(x @ w), ep.ops.sum(x)

    x, w = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    with ep.lazy() as block:
        of_x = block.view(x)
        of_x[...] = ep.ops.exp(of_x)
        assigned = block.explain()
    for explanation in (ep.fuse(f).explain(x, w), assigned):
        lines = str(explanation).splitlines()
        assert lines[0].startswith("0: ")
        sys.displayhook(explanation)
        assert capsys.readouterr().out.splitlines() == lines
    assert len(ep.fuse(f).explain(x, w).splitlines()) > 1


def test_a_cut_is_drawn_with_its_reason():
    f = ep.fuse(lambda x, v: ep.ops.exp(x) * ep.ops.exp(v))
    assert "cut before exp: its shape is (4,)" in check(f.explain(np.ones((3, 4)), np.ones(4)))


_NAMES = {
    "markup": "a<b>&\"c'",
    "end of a section": "]]>",
    "control characters": "\x00\x1b",
    "wide": "名" * 9,
    "long": "n" * 300,
    "half of a surrogate": "\ud800",
}


@pytest.mark.parametrize("kind", _NAMES)
def test_any_name_is_drawn(kind, tmp_path):
    name = _NAMES[kind]
    f = ep.fuse(lambda **given: -next(iter(given.values())))
    explanation = f.explain(**{name: np.ones(3)})
    texts = check(explanation)
    if name.isprintable():
        assert any(text and name.startswith(text.rstrip("…")) for text in texts)
    explanation.save(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text(encoding="utf-8") == explanation.svg() == explanation._repr_svg_()


def test_a_graph_of_300_operators():
    @ep.fuse
    def f(x, y):
        for k in range(100):
            x, y = y, ep.ops.tanh(x * y + float(k))
        return x, y

    check(f.explain(np.ones(7), np.ones(7)))


def test_a_result_that_is_an_argument_and_numbers_that_vary():
    f = ep.fuse(lambda x, rate: (x, x * rate))
    assert "number" in check(f.explain(np.ones(3), 0.5))


def test_blocks_are_drawn():
    with ep.lazy() as lazy:
        assert not boxes_of(ElementTree.fromstring(lazy.explain().svg()))
        x, y = lazy.view(np.ones(3)), lazy.view(np.ones(3))
        x[...] = x + y
        texts = check(lazy.explain())
    assert "view 0" in texts
    assert "view 1" in texts


def test_edges_go_around_the_items_between():
    items = dict.fromkeys(range(4), (50.0, 20.0))
    edges = [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(0, 3)]
    layers = longest_paths(items, edges)
    assert layers == {0: 0, 1: 1, 2: 2, 3: 3}
    layout = Layout(items, edges, layers)
    number = r"([\d.]+)"
    runs = [tuple(map(float, one)) for one in re.findall(f"M{number} {number}V{number}", layout.paths)]
    assert len(runs) == 6  # three edges, and one of three parts
    for left, top in layout.places.values():
        assert not any(left < x < left + 50 and start < top + 20 and end > top for x, start, end in runs)
