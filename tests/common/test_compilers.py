"""The choice of the compiler: which names of Numba it depends on, and that both compilers compute the same bits."""

import ast
import json
from pathlib import Path

import pytest

import ep
from ep.common.native.compilers import NAMES, missing_names
from ep.cpu.device import report
from tests.subprocesses import run

HIDDEN = """
import builtins, importlib, sys

def is_asked_by_ep(frame):
    return frame.f_globals.get("__name__", "").startswith("ep.")

def is_private(name):
    return name.startswith(("numba.core", "numba._", "numba.np", "numba.cpython"))

def hidden(function):
    def import_(name, *args, **kwargs):
        fromlist = (args[2] if len(args) > 2 else kwargs.get("fromlist")) or ()
        names = [name, *(f"{name}.{one}" for one in fromlist)]
        needed = fromlist == ("AttributeTemplate",)  # the base of what numba.extending.infer_getattr takes
        if is_asked_by_ep(sys._getframe(1)) and any(map(is_private, names)) and not needed:
            raise ImportError(f"this Numba has no {name}")
        return function(name, *args, **kwargs)
    return import_

builtins.__import__ = hidden(builtins.__import__)
importlib.import_module = hidden(importlib.import_module)
"""
"""Makes a Numba of which ep finds only what its manual has."""

LACKING = """
import sys, types
import numba.core.callconv, numba.core.codegen
del numba.core.codegen.CodeLibrary._ensure_finalized
numba.core.callconv.RETURN_CODE_OK = numba.core.callconv.__dict__.pop("RETCODE_OK")
"""
"""Makes a Numba that lacks one of the names, and calls another one something else: it compiles nothing itself then."""

RESULTS = """
import hashlib, json, sys
import numpy as np
import ep.ops
from ep.common.native.compilers import why_documented
from ep.cpu.compile.compiler import statistics

rng = np.random.default_rng(5)
x = rng.standard_normal((37, 101)).astype(np.float32)
found = {
    "fill": ep.ops.full((13, 7), 2.5, dtype="float32"),
    "cast": ep.ops.cast(x * 300, "int8"),
    "erf": ep.ops.erf(x),
    "wrapped": ep.fuse(lambda n: n + 1 > n)(np.array([3, 2**63 - 1])),
    "gather": ep.ops.gather(x, np.array([3, 0, 36])),
    "softmax": ep.ops.softmax(x),
    "product": ep.ops.matmul(x, x.T),
    "sum": ep.ops.sum(x, axis=1),
}
digests = {name: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for name, value in found.items()}
print(json.dumps([why_documented(), statistics.loaded, digests]))
"""

FILL = """
import json
import ep.ops
from ep.common.native.compilers import why_documented
from ep.cpu.compile.compiler import statistics

ep.ops.full((13, 7), 2.5, dtype="float32")
print(json.dumps([why_documented(), statistics.loaded]))
"""


def results(tmp_path, prelude="", **environment):
    said = run(prelude + RESULTS, EP_CACHE_DIR=str(tmp_path), **environment)
    return json.loads(said.splitlines()[-1])


def test_this_numba_has_all_names():
    assert missing_names() == []


@pytest.mark.ep_long
def test_numba_by_its_manual_alone_computes_the_same_bits(tmp_path):
    why, _, expected = results(tmp_path)
    assert why is None
    why, _, found = results(tmp_path, HIDDEN)
    assert "has no numba._dynfunc.make_function" in why
    assert found == expected
    why, loaded = json.loads(run(FILL, EP_CACHE_DIR=str(tmp_path), EP_COMPILER="numba").splitlines()[-1])
    assert (why, loaded) == ("EP_COMPILER is numba", 0)  # it concerns the kernels on disk, too


@pytest.mark.parametrize(
    ("prelude", "lacks"),
    [
        (LACKING, ["numba.core.callconv.RETCODE_OK", "numba.core.codegen.CodeLibrary._ensure_finalized"]),
        (HIDDEN, [f"{module}.{name}" for module, names in NAMES.items() for name in names]),
    ],
    ids=["one", "all"],
)
def test_missing_names_are_found(prelude, lacks):
    code = "import json\nfrom ep.common.native.compilers import missing_names\nprint(json.dumps(missing_names()))\n"
    assert json.loads(run(prelude + code)) == lacks


@pytest.mark.parametrize(
    ("release", "asked", "why"),
    [
        ("0.68.9", None, None),
        ("0.69.0rc1", None, "Numba 0.69.0rc1 is newer than 0.68, the newest release that was tried"),
        ("1.0.0", None, "Numba 1.0.0 is newer than 0.68, the newest release that was tried"),
        ("1.0.0", "ep", None),
        ("0.68.1", "numba", "EP_COMPILER is numba"),
    ],
)
def test_the_choice_depends_on_the_release_and_on_the_variable(release, asked, why):
    code = f"""
import logging, json
from ep.common.native import compilers
said = []
class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
logging.getLogger("ep").addHandler(Said())
compilers.version = lambda package: {release!r}
print(json.dumps([compilers.chosen(), said]))
"""
    found, said = json.loads(run(code, **({"EP_COMPILER": asked} if asked else {})))
    assert found == why
    warns = why is not None and asked is None
    assert said == ([f"ep: {why}; kernels are compiled more slowly, and anew in each process"] if warns else [])


def _imports(tree):
    """Yield the modules of Numba that a file imports, and their names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "numba":
            yield from ((node.module, alias.name) for alias in node.names)


def test_every_private_name_is_listed():
    """All that is imported of Numba for the host is documented, or one of the names that the check looks for."""
    listed = {f"{module}.{name}" for module, names in NAMES.items() for name in names}
    documented = {
        "numba.types",
        "numba.core.types",
        "numba.from_dtype",
        "numba.core.typing.templates.AttributeTemplate",
    }
    root, missing = Path(ep.__file__).parent, []
    for path in root.rglob("*.py"):
        if path.is_relative_to(root / "cuda"):
            continue
        for module, name in _imports(ast.parse(path.read_text())):
            full = f"{module}.{name}"
            if module == "numba.extending" or full in documented:
                continue
            if not any(one == full or one.startswith(f"{full}.") for one in listed):
                missing.append(f"{path.relative_to(root)}: {full}")
    assert missing == []


def test_the_doctor_says_which_compiler_is_used(monkeypatch):
    for why, expected in (
        (None, "ep's own: Numba"),
        ("EP_COMPILER is numba", "Numba, as its manual describes it: EP_COMPILER is numba. Kernels"),
    ):
        monkeypatch.setattr(report, "why_documented", lambda why=why: why)
        finding = report.compiler()
        assert (finding.what, finding.verdict) == ("compiler", "pass")
        assert finding.details.startswith(expected)
