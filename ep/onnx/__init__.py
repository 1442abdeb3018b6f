"""Models in the ONNX format, computed by the operators of `ep.ops`. It needs the extra `onnx`."""

from ep.garbage import garbage_waits

with garbage_waits(all_is_kept=True):
    try:
        import onnx as _onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("ep.onnx needs the package onnx: pip install 'ep[onnx]'", name="onnx") from error

    from ep.onnx.backend import Backend
    from ep.onnx.errors import ModelError, UnsupportedError
    from ep.onnx.graph import Signature
    from ep.onnx.model import Model, load

__all__ = ["Backend", "Model", "ModelError", "Signature", "UnsupportedError", "load"]
