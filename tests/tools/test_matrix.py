"""The decisions and the output of `python -m tools.matrix`; `.ci/run` makes the environments themselves."""

import dataclasses
import os
import sys
import threading
from argparse import Namespace

import pytest

from tools import debian, matrix, pythons
from tools.matrix import Row
from tools.pythons import Interpreter

PROJECT = {
    "name": "ours",
    "requires-python": ">=3.11",
    "dependencies": ["numpy>=2.1", "numba>=0.66,<0.69"],
    "optional-dependencies": {
        "cuda": ["numba-cuda[cu13]>=0.30.4,<0.31"],
        "test": ["ours[cuda]; platform_system == 'Linux'", "py_test.x >= 8 ; platform_system == 'Linux'"],
        "bench": ["torch"],
    },
}


def test_constraints_are_the_lower_bounds():
    assert matrix.constraints(PROJECT) == ["numpy==2.1", "numba==0.66", "numba-cuda==0.30.4", "py_test.x==8"]
    assert matrix.oldest_python(PROJECT) == (3, 11)


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy[x]; python_version > '3'"])
def test_each_requirement_has_a_lower_bound(requirement):
    with pytest.raises(ValueError, match=r"numpy.*in pyproject\.toml has no lower bound"):
        matrix.constraints({**PROJECT, "dependencies": [requirement]})


def test_constraints_of_this_package():
    names = [line.partition("==")[0] for line in matrix.constraints(matrix._project())]
    assert {"numpy", "numba", "ml_dtypes", "rich", "numba-cuda", "pytest", "scipy"} <= set(names)
    assert "ep" not in names


def test_one_interpreter_of_each_version_is_chosen():
    found = [
        Interpreter("here", (3, 12, 1)),
        Interpreter("a", (3, 13, 0)),
        Interpreter("b", (3, 12, 1)),
        Interpreter("c", (3, 11, 2)),
        Interpreter("d", (3, 11, 10)),
        Interpreter("e", (3, 10, 9)),
        Interpreter("f", (3, 13, 1), free_threaded=True),
        Interpreter("g", (3, 12, 0), fixed=True),
    ]
    chosen = pythons.choose(found, (3, 11))
    assert {name: one.path for name, one in chosen.items()} == {
        "3.11": "d",
        "3.12": "here",
        "3.12-fixed": "g",
        "3.13": "a",
        "3.13t": "f",
    }
    assert next(iter(chosen)) == "3.11"


def test_interpreters_on_the_path_and_of_pyenv(tmp_path):
    for name in (
        "bin/python3.12",
        "bin/python3.13t",
        "bin/python3.12-config",
        "bin/python3",
        "env/versions/3.13.0/bin/python",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    path = os.pathsep.join(["", str(tmp_path / "absent"), str(tmp_path / "bin"), str(tmp_path / "bin")])
    names = ["bin/python3.12", "bin/python3.13t", "env/versions/3.13.0/bin/python"]
    assert pythons.candidates(path, tmp_path / "env") == [sys.executable, *(str(tmp_path / name) for name in names)]


def test_what_an_interpreter_is(tmp_path):
    own = pythons.ask(sys.executable)
    assert own == Interpreter(sys.executable, sys.version_info[:3], fixed=own.fixed)
    assert own.name == ".".join(map(str, sys.version_info[:2])) + "-fixed" * own.fixed
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    assert pythons.ask(str(broken)) is None
    assert pythons.ask(str(tmp_path)) is None
    assert Interpreter("x", (3, 14, 0), free_threaded=True).name == "3.14t"


def test_executables_for_fixed_addresses(tmp_path):
    """Both kinds of ELF files, which only say that they are Pythons."""
    for kind in (2, 3):
        binary, command = tmp_path / f"binary{kind}", tmp_path / f"command{kind}"
        binary.write_bytes(b"\x7fELF".ljust(16, b"\0") + bytes([kind, 0]))
        code = f"import sys; sys.executable = {str(binary)!r}; exec(sys.argv[-1])"
        command.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -c "{code}" "$1"\n')
        command.chmod(0o755)
        assert pythons.ask(str(command)).fixed == (kind == 2)


FOUND = {
    "3.11": Interpreter("a", (3, 11, 7)),
    "3.99": Interpreter("b", (3, 99, 0)),
    "3.99t": Interpreter("c", (3, 99, 0), free_threaded=True),
}


@pytest.mark.parametrize(
    ("options", "planned"),
    [
        ({}, ["3.11", "3.99", "lowest"]),
        ({"pre": True}, ["3.11", "3.99"]),
        ({"only": ["3.99", "lowest"]}, ["3.99", "lowest"]),
        ({"only": ["3.99t"]}, []),
    ],
    ids=str,
)
def test_the_plan(options, planned):
    arguments = Namespace(**{"pre": False, "only": None, "others": False, **options})
    plan = matrix.plan(FOUND, arguments, (3, 11))
    assert list(plan) == planned
    assert plan.get("lowest", FOUND["3.11"]) is FOUND["3.11"]


def test_the_lowest_environment_may_have_a_python_for_fixed_addresses():
    found = {"3.11-fixed": Interpreter("a", (3, 11, 2), fixed=True)}
    arguments = Namespace(pre=False, only=None, others=False)
    assert list(matrix.plan(found, arguments, (3, 11))) == ["3.11-fixed", "lowest"]


def test_the_plan_without_this_python_and_that_of_the_lowest_environment():
    own = pythons.ask(sys.executable)
    found = {own.name: own, **{name: FOUND[name] for name in ("3.11", "3.99")}}
    arguments = Namespace(pre=False, only=None, others=True)
    assert list(matrix.plan(found, arguments, (3, 11))) == ["3.99", "lowest"]


def test_the_plan_without_this_python_and_without_the_oldest():
    own = pythons.ask(sys.executable)
    this, other = own.name, dataclasses.replace(own, fixed=not own.fixed)
    found = {this: own, other.name: other, "3.99": FOUND["3.99"]}
    arguments = Namespace(pre=False, only=None, others=True)
    assert list(matrix.plan(found, arguments, (3, 98))) == [other.name, "3.99"]
    del found[other.name]
    assert list(matrix.plan(found, arguments, (3, 98))) == ["3.99"]
    del found["3.99"]
    assert list(matrix.plan(found, arguments, (3, 98))) == [this]


@pytest.mark.parametrize(
    ("user", "commands", "words"),
    [
        (1000, ["debootstrap", "unshare"], "only root can make it"),
        (0, ["unshare"], "debootstrap is not installed"),
        (0, ["debootstrap"], "unshare is not installed"),
        (0, ["debootstrap", "unshare"], "debootstrap ended with exit code 7: no such mirror"),
    ],
)
def test_why_debian_is_not_made(tmp_path, capsys, monkeypatch, user, commands, words):
    for command in commands:
        (tmp_path / command).write_text("#!/bin/sh\necho begins\necho no such mirror\nexit 7\n")
        (tmp_path / command).chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pythons.of_debian(tmp_path / "folder") == {}
    assert capsys.readouterr().out == f"debian: not run: {words}\n"
    assert not (tmp_path / "folder").exists()


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Stand-ins for debootstrap, which makes a folder, for apt-get, and for unshare, which runs the command in this
    system."""
    lines = {
        "debootstrap": 'for last; do :; done; mkdir -p "$last/usr/bin"',
        "apt-get": 'echo "$*" >> "$0.log"',
        "unshare": 'shift; if [ "$1" = sh ]; then shift 6; fi; exec "$@"',
    }
    for name, line in lines.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "keep"


def test_debian_is_made_once_and_its_python_runs_inside(system):
    (python,) = pythons.of_debian(system).values()
    assert python == pythons.ask("/usr/bin/python3", python.inside)
    assert python.inside[-2:] == (str(system / "unstable"), str(system))
    (system / "unstable" / "kept").touch()
    assert debian.make(system) == python.inside
    assert [path.name for path in system.iterdir()] == ["unstable"]
    assert (system / "unstable" / "kept").exists()


def test_each_newer_python_of_debian_has_an_environment(system, monkeypatch):
    debian.make(system)
    assert (system.parent / "apt-get.log").read_text().split()[-2:] == ["install", debian.OTHER_PYTHONS]
    found = {"/usr/bin/python3": Interpreter("/usr/bin/python3", (3, 98, 1), fixed=True)}
    for name, version in (("python3.9", 9), ("python3.98", 98), ("python3.100", 100), ("python3.99", 99)):
        (system / "unstable/usr/bin" / name).touch()
        found[f"/usr/bin/{name}"] = Interpreter(f"/usr/bin/{name}", (3, version, 1), fixed=True)
    (system / "unstable/usr/bin/python3.99-config").touch()
    monkeypatch.setattr(pythons, "ask", lambda command, inside: found[command])
    environments = [(name, one.path) for name, one in pythons.of_debian(system).items()]
    names = {"debian": "python3", "debian-3.99": "python3.99", "debian-3.100": "python3.100"}
    assert environments == [(name, f"/usr/bin/{program}") for name, program in names.items()]


def test_a_debian_whose_packages_cannot_be_installed(system, capsys):
    (system.parent / "apt-get").write_text("#!/bin/sh\necho no such package\nexit 100\n")
    assert pythons.of_debian(system) == {}
    assert capsys.readouterr().out == "debian: not run: apt-get ended with exit code 100: no such package\n"
    assert not (system / "unstable").exists()


def test_a_debian_without_a_python_that_starts(system, capsys, monkeypatch):
    monkeypatch.setattr(pythons, "ask", lambda *_: None)
    assert pythons.of_debian(system) == {}
    assert capsys.readouterr().out == "debian: not run: its /usr/bin/python3 does not start\n"


def test_nothing_run_is_a_failure(capsys, monkeypatch):
    assert matrix.main(["--only", "3.10"]) == 1
    assert "3.10: not found, and nothing was run" in capsys.readouterr().err
    assert matrix.main(["--only", "3.11", "--whole", "debian"]) == 1
    assert "debian: not found, and nothing was run" in capsys.readouterr().err
    monkeypatch.setattr(debian, "make", lambda *_: (_ for _ in ()).throw(debian.CannotMakeError("no root")))
    monkeypatch.setattr(matrix, "ask", lambda command: None)
    assert matrix.main([]) == 1
    assert "no Python: not found, and nothing was run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "code", "cell"),
    [
        ("..\n12 passed, 1 skipped in 3.21s\n", 0, "12 passed, 1 skipped"),
        ("..\n12 passed, 3 deselected, 2 warnings in 63.21s (0:01:03)\n", 0, "12 passed"),
        ("FAILED x\n=== 2 failed, 10 passed in 3.21s ===\n", 1, "FAILED: 2 failed, 10 passed"),
        ("ERROR: file not found\n\nno tests ran in 0.01s\n", 4, "FAILED: exit code 4"),
        ("", 0, "ok"),
    ],
)
def test_outcomes(output, code, cell):
    assert matrix.outcome(output, code) == cell


def test_the_table():
    rows = [Row("3.12", {"Python": "3.12.1", "demo": "ok"}, seconds={"demo": 7.2}), Row("lowest", {"Python": "3.11.7"})]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in matrix.table(rows).splitlines()]
    assert lines[0] == ["environment", *matrix.COLUMNS, "seconds"]
    assert set("".join(lines[1])) == {"-"}
    assert lines[2] == ["3.12", "3.12.1", *["not run"] * 3, "ok", *["not run"] * 2, "7"]
    assert lines[3] == ["lowest", "3.11.7", *["not run"] * 6, "0"]
    assert len({len(line) for line in matrix.table(rows).splitlines()}) == 1


def test_environments_with_the_same_compilers_have_the_same_kernel_files():
    rows = [
        Row("3.11", files=frozenset(("a/move-1.kernel", "a/pad-1.kernel"))),
        Row("3.12", files=frozenset(("a/move-1.kernel", "a/pad-1.kernel"))),
        Row("3.13", files=frozenset(("a/move-1.kernel", "a/pad-2.kernel"))),
        Row("lowest", files=frozenset(("b/move-3.kernel",))),
        Row("3.14", failed=True),
    ]
    assert matrix.differing(rows) == ["3.13: 2 kernel files differ from those of 3.11"]


def steps(tmp_path, monkeypatch, codes=(), **options):
    """Run an environment, whose steps of the numbers `codes` fail; return the row, and the commands that ran."""
    ran = []

    def done(command, **_):
        if "-c" in command and "importlib.metadata" in command[-1]:
            return Namespace(returncode=0, stdout=options.get("versions", "3.12.1 2.5.5 0.68.1 0.30.4"), stderr="")
        ran.append(command)
        return Namespace(returncode=int(len(ran) in codes), stdout="5 passed in 1s\n", stderr="")

    monkeypatch.setattr(matrix.subprocess, "run", done)
    monkeypatch.setattr(matrix, "commit", lambda: "3f")
    arguments = Namespace(**{"quick": False, "whole": None, "pre": False, **options})
    name, python = options.get("name", "3.12"), Interpreter("python3.12", (3, 12, 1), inside=options.get("inside", ()))
    environment = matrix.Environment(name, python, tmp_path / name, arguments, 2)
    matrix.run_all([environment], 1)
    return environment.row, ran


def test_the_steps(tmp_path, monkeypatch):
    row, ran = steps(tmp_path, monkeypatch)
    assert not row.failed
    assert [row.results[column] for column in ("NumPy", "CPU tests", "PTX tests")] == ["2.5.5", *["5 passed"] * 2]
    own = str(tmp_path / "3.12" / "bin" / "python")
    assert ran[0] == ["python3.12", "-m", "venv", "--without-pip", str(tmp_path / "3.12")]
    assert ran[1][:5] == [sys.executable, "-m", "pip", "--python", own]
    ends = [
        ["-e", ".[test]"],
        ["tools.ptx_table", "--files"],
        ["ep", "demo"],
        ["--ep-turn", "3f-3.12"],
        ["--ep-device", "cuda"],
    ]
    assert [command[-2:] for command in ran[1:]] == ends
    assert (tmp_path / "3.12.log").read_text().count("\n+ ") == 5


def test_the_steps_of_some_environments(tmp_path, monkeypatch):
    """The lowest and the newest versions, another system, all tests of the CPU device, and a Python that numba-cuda has
    no wheel for.
    """
    _, ran = steps(tmp_path, monkeypatch, name="lowest")
    assert ran[1][-2:] == ["-c", str(tmp_path / "lowest.constraints")]
    assert (tmp_path / "lowest.constraints").read_text().splitlines() == matrix.constraints(matrix._project())
    _, ran = steps(tmp_path, monkeypatch, pre=True)
    assert ran[2][-len(matrix.NEWEST) - 2 :] == ["--pre", "--upgrade", *matrix.NEWEST]
    _, ran = steps(tmp_path, monkeypatch, inside=("enter", "it"))
    assert [command[:2] for command in ran] == [["enter", "it"]] * 6
    assert ran[0][2:] == ["python3.12", "-m", "venv", str(tmp_path / "3.12")]
    assert ran[1][2:5] == [str(tmp_path / "3.12" / "bin" / "python"), "-m", "pip"]
    for name, whole, on_cpu, on_cuda in (
        ("3.12", ["lowest"], matrix.QUICK, matrix.QUICK_ON_CUDA),
        ("3.12", ["lowest", "3.12"], (), matrix.QUICK),
        ("lowest", None, matrix.QUICK, matrix.QUICK),
    ):
        _, ran = steps(tmp_path, monkeypatch, name=name, quick=True, whole=whole)
        assert [command[8:] for command in ran[-2:]] == [[*on_cpu], [*on_cuda, "--ep-device", "cuda"]]
    row, ran = steps(tmp_path, monkeypatch, versions="3.15.2 2.5.5 0.68.1")
    assert not row.failed
    assert [command[-2:] for command in ran[2:]] == [["ep", "demo"], ["--ep-turn", "3f-3.12"]]
    cells = [cell.strip() for cell in matrix.table([row]).splitlines()[-1].split("|")]
    assert cells[1:-2] == ["3.12", "3.15.2", "2.5.5", "0.68.1", "not run", "5 passed", "5 passed", "not run"]


@pytest.mark.parametrize(("step", "ran"), [(1, 1), (2, 2), (3, 6), (4, 6), (5, 6), (6, 6)])
def test_a_step_that_fails(tmp_path, monkeypatch, capsys, step, ran):
    """Nothing runs after a step of the environment fails; others run although an earlier one failed."""
    row, commands = steps(tmp_path, monkeypatch, {step})
    assert row.failed
    assert len(commands) == ran
    assert "FAILED: 5 passed" in row.results.values()
    assert "5 passed in 1s" in capsys.readouterr().out


def test_runs_of_tests_overlap(tmp_path, monkeypatch):
    ran, both = [], threading.Barrier(2, timeout=60)

    def done(command, **_):
        ran.append(command[-1])
        if "pytest" in command:
            both.wait()
        return Namespace(returncode=0, stdout="3.12.1 2.5.5 0.68.1 0.30.4", stderr="")

    monkeypatch.setattr(matrix.subprocess, "run", done)
    monkeypatch.setattr(matrix, "commit", lambda: "3f")
    arguments = Namespace(quick=False, whole=None, pre=False)
    python = Interpreter("python3.12", (3, 12, 1))
    environments = [matrix.Environment(name, python, tmp_path / name, arguments, 1) for name in ("3.12", "3.13")]
    matrix.run_all(environments, 2)
    assert [one.row.results["PTX tests"] for one in environments] == ["ok", "ok"]
    assert ran.count("cuda") == 2
