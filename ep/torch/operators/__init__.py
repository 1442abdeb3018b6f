"""ATen's operators, by families, which fill the table."""

from ep.torch.operators import elementwise, indices, layers, reductions, resizes, shapes, windows
from ep.torch.table import OPERATORS, aten

FAMILIES = elementwise, indices, layers, reductions, resizes, shapes, windows

__all__ = ["FAMILIES", "OPERATORS", "aten"]
