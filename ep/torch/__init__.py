"""PyTorch models on ep: `torch.compile(model, backend="ep")`. It needs the extra `torch`."""

from importlib.util import find_spec

from ep.garbage import garbage_waits
from ep.version import installs

if find_spec("torch") is None:
    raise ModuleNotFoundError(f"ep.torch needs the package torch: {installs('torch')}", name="torch")

with garbage_waits(all_is_kept=True):
    from ep.torch.aot import backend, explain

__all__ = ["backend", "explain"]
