"""Models in the ONNX format, computed by the operators of `ep.ops`. It needs the extra `onnx`."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ep.garbage import garbage_waits
from ep.include.process import exclusively
from ep.include.suggest import unknown_attribute
from ep.version import installs

if find_spec("onnx") is None:
    raise ModuleNotFoundError(f"ep.onnx needs the package onnx: {installs('onnx')}", name="onnx")

with garbage_waits(all_is_kept=True):
    from ep.onnx.errors import ModelError, UnsupportedError
    from ep.onnx.inputs import ValueInfo
    from ep.onnx.model import Model, load

if TYPE_CHECKING:
    from ep.onnx.backend import Backend
    from ep.onnx.summary import outline

__all__ = ["Backend", "Model", "ModelError", "UnsupportedError", "ValueInfo", "load", "outline"]

# they import the package onnx, which a model whose plans are on disk does not need
_LATER = {"Backend": "ep.onnx.backend", "outline": "ep.onnx.summary"}


if not TYPE_CHECKING:  # for checkers of types, other names are errors

    def __getattr__(name: str) -> Any:
        if name in _LATER:
            return getattr(exclusively(lambda: import_module(_LATER[name])), name)
        raise unknown_attribute(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__
