"""Models in the ONNX format, computed by the operators of `ep.ops`. It needs the extra `onnx`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ep.garbage import garbage_waits
from ep.version import installs

if find_spec("onnx") is None:
    raise ModuleNotFoundError(f"ep.onnx needs the package onnx: {installs('onnx')}", name="onnx")

with garbage_waits(all_is_kept=True):
    from ep.onnx.errors import ModelError, UnsupportedError
    from ep.onnx.inputs import Signature
    from ep.onnx.model import Model, load

if TYPE_CHECKING:
    from ep.onnx.backend import Backend

__all__ = ["Backend", "Model", "ModelError", "Signature", "UnsupportedError", "load"]


def __getattr__(name: str) -> Any:
    if name == "Backend":  # it imports the package onnx, which a model whose plans are on disk does not need
        from ep.onnx.backend import Backend

        return Backend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
