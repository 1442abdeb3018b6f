"""The repository is as its documents say: README, generated table, layers, self-containment."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ep.version import DISTRIBUTION, __version__
from tools import (
    accuracy_table,
    array_api_table,
    onnx_table,
    ops_stub,
    performance_table,
    pictures,
    placement_table,
    reference_pages,
    support_table,
    vector_math_table,
)

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


TESTS = """\
pip install -e ".[test]" && python -m pytest -n auto &&
python -m pytest -n auto --ep-device cuda
"""


def test_the_first_two_sh_blocks_are_the_whole_set_up():
    demo, tests = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[:2]
    assert demo.strip() == "pip install -e . && ep demo"
    assert tests == TESTS


def test_the_ci_runs_the_readmes_test_command():
    """The lines of `.ci/run` that read the command from the README find it, and its parts."""
    lines = re.findall(r"^(?:tests|install|on_cpu|on_cuda)=\$.*$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    code = "\n".join([*lines, 'printf "%s|" "$tests" "$install" "$on_cpu" "$on_cuda"'])
    done = subprocess.run(["bash", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    tests, *parts, _ = done.stdout.split("|")
    assert tests == TESTS.rstrip("\n")
    install, on_cpu, on_cuda = map(str.strip, tests.split("&&"))
    assert [part.strip() for part in parts] == [install, f"{install} && {on_cpu}", on_cuda]


def test_the_readmes_example_runs():
    example = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    exec(compile(example, "README.md", "exec"), {})
    assert sum(1 for line in example.splitlines() if line.strip()) <= 22


GENERATORS = [
    support_table,
    accuracy_table,
    performance_table,
    array_api_table,
    vector_math_table,
    placement_table,
    onnx_table,
    ops_stub,
    pictures,
]


@pytest.mark.parametrize("program", GENERATORS, ids=lambda program: program.__name__)
def test_the_generated_files_are_up_to_date(program):
    for file, text in program.files().items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, f"{file}: run python -m {program.__name__}"


def test_each_page_of_the_performance_has_a_record():
    pages = {f"docs/performance/{path.name}" for path in (ROOT / "docs/performance").glob("*.md")}
    assert pages < {*performance_table.files()}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDERS = ("docs", "ep", "examples", "tools", "benchmarks", "tests")
INSTALLS_EP = re.compile(r"""pip install (?:[^\n`&;|]* )?["']?ep(?![\w./-])""")


def test_no_text_installs_the_other_project_of_that_name():
    """On PyPI, `ep` is another project."""
    for wrong in ("pip install ep", "pip install -U 'ep[onnx]'", "`pip install build ep`"):
        assert INSTALLS_EP.search(wrong)
    paths = [
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", ".toml")
    ]
    for path in (*ROOT.glob("*.md"), *paths):
        if path != Path(__file__):
            assert not INSTALLS_EP.search(path.read_text()), path
    for path in (ROOT / "pyproject.toml", *(ROOT / "examples").rglob("pyproject.toml")):
        project = tomllib.loads(path.read_text())["project"]
        groups = project["dependencies"], *project["optional-dependencies"].values()
        assert "ep" not in {re.match(r"[\w.-]+", requirement)[0] for group in groups for requirement in group}


def test_extras_that_are_named_exist():
    extras = PROJECT["optional-dependencies"]
    named = [
        extra for group in extras.values() for one in group for extra in re.findall(rf"{DISTRIBUTION}\[(.*?)\]", one)
    ]
    for path in (ROOT / "ep").rglob("*.py"):
        named += re.findall(r"""\binstalls\(["']([\w-]+)["']\)""", path.read_text())
    assert PROJECT["name"] == DISTRIBUTION
    assert {"cuda", "mpi", "onnx", "plot"} <= {*named} <= {*extras}


def test_the_changelog_knows_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog


LAYERS = {
    "include": ("include",),
    "common": ("include", "common"),
    "sbp": ("include", "common", "sbp"),
    "run": ("include", "common", "run"),
    "cpu": ("include", "common", "cpu"),
    "cuda": ("include", "common", "run", "cuda"),
    "ops": ("include", "common", "sbp", "run", "ops"),
    "expressions": ("include", "common", "run", "ops", "expressions"),
    "mesh": ("include", "common", "sbp", "ops", "mesh"),
    "bench": ("include", "common", "ops", "bench"),
    "cli": ("include", "common", "sbp", "ops", "mesh", "bench", "cli"),
    "testing": ("include", "common", "testing"),
}

BELOW = ("garbage", "source_files", "version")
"""The modules of `ep` itself that all layers may import."""


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_import_only_what_lies_below(layer):
    for path in (ROOT / "ep" / layer).rglob("*.py"):
        for name in re.findall(r"^\s*(?:from|import) ep\.(\w+)", path.read_text(), re.MULTILINE):
            assert name in (*LAYERS[layer], *BELOW), f"{path.relative_to(ROOT)} imports ep.{name}"


def test_one_module_imports_numba_cuda():
    """If another package replaces numba-cuda, one file changes."""
    importing = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "ep").rglob("*.py")
        if re.search(r"^\s*(from|import) numba(_cuda|\.cuda)|^\s*from numba import .*\bcuda\b", path.read_text(), re.M)
    ]
    assert importing == ["ep/cuda/compile/numba_cuda.py"]


def test_started_processes_find_packages_as_their_parents_do():
    """Packages and libraries may be found by these variables alone, so they are extended, never replaced."""
    folders = [ROOT / name for name in ("ep", "examples", "tests", "tools", "benchmarks")]
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for value in re.findall(r"""(?:PYTHON|LD_LIBRARY_)PATH["']?\]?\s*(?:=|:)\s*([^\s=].*)""", path.read_text()):
            assert value.startswith("extended("), f"{path.relative_to(ROOT)}: {value}"


def test_two_modules_write_instructions_of_cuda():
    """Kernels are Python; what Python has no words for is written by the methods of one class."""
    writing = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "ep/cuda").rglob("*.py"))
        if re.search(r"^from llvmlite|\b(cgutils|intrinsic|builder)\b", path.read_text(), re.M)
    ]
    of_the_host = "ep/cuda/launch/code.py"
    assert writing == ["ep/cuda/compile/instructions.py", "ep/cuda/compile/numba_cuda.py", of_the_host]


DOCUMENTS = [
    path for pattern in ("*.md", "docs/*.md", "docs/tutorials/*.md", "ep/**/*.md") for path in ROOT.glob(pattern)
]


def test_links_of_the_documents_lead_somewhere():
    made = {ROOT / "docs" / "reference" / name for name in reference_pages.pages()}
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text()):
            path = (document.parent / target).resolve()
            assert path in made or path.exists(), f"{document.name}: {target}"


def test_files_that_documents_name_are_there():
    """A path begins in the repository, in `ep`, in a folder of it, or in that of the document."""
    folders = [ROOT, ROOT / "ep", *(path for path in (ROOT / "ep").rglob("*") if path.is_dir())]
    for document in DOCUMENTS:
        text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for name in re.findall(r"`((?:\w+/|\.\./)+(?:\w+\.py)?)`", text):
            assert any((folder / name).exists() for folder in (document.parent, *folders)), f"{document.name}: {name}"


def test_python_m_ep_is_the_command():
    command = [sys.executable, "-m", "ep", "--version"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


def _needs(paths):
    """Return, for each of `paths`, those of them that it imports, also in functions and for type checkers."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}

    def imported(path):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.relative_to(ROOT)} imports by a relative name"
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield name if name in modules else node.module

    return {path: {modules[name] for name in imported(path) if name in modules} - {path} for path in paths}


def _in_circles(needs):
    """Return the members of a graph that are part of circles, or reach one."""
    needs = dict(needs)
    while free := [one for one, needed in needs.items() if not needed & needs.keys()]:
        for one in free:
            del needs[one]
    return needs


def _tree(*layers):
    return _needs([path for layer in layers for path in (ROOT / "ep" / layer).rglob("*.py")])


def test_no_circle_of_files():
    """No file imports itself through others. Every import counts, also in functions."""
    circles = _in_circles(_tree("."))
    assert not circles, sorted(str(path.relative_to(ROOT)) for path in circles)


def test_no_circle_of_rooms():
    """A room is a folder. No folder imports itself through others."""
    rooms = {}
    for path, needed in _tree("include", "common", "cpu", "cuda").items():
        rooms.setdefault(path.parent, set()).update({other.parent for other in needed} - {path.parent})
    circles = _in_circles(rooms)
    assert not circles, sorted(str(path.relative_to(ROOT)) for path in circles)


def test_what_registers_a_primitive_is_short():
    """A file with a primitive's Launch is short; the parts that several primitives share are in their base classes."""
    long = []
    for path in ROOT.glob("ep/*/primitive/*.py"):
        text = path.read_text()
        if (
            re.search(r"^@(implements|register_primitive_factory)\(", text, re.MULTILINE)
            and len(text.splitlines()) > 60
        ):
            long.append(str(path.relative_to(ROOT)))
    assert not long
