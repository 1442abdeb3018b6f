"""Only one module emits LLVM's vector instructions."""

from pathlib import Path

import pytest

import ep.cpu

ROOT = Path(ep.cpu.__file__).parent


@pytest.mark.parametrize(
    "text", ["llvm.masked.", "llvm.prefetch", "llvm.vector.reduce.", '"nontemporal"', "shuffle_vector", ".phi("]
)
def test_one_module_names_an_instruction(text):
    naming = [str(path.relative_to(ROOT)) for path in sorted(ROOT.rglob("*.py")) if text in path.read_text("utf-8")]
    assert naming == [str(Path("compile", "vectors.py"))]
