"""ATen's operators, by families, which fill the table."""

from ep.torch.operators import elementwise, layers, reductions, resizes, shapes

__all__ = ["elementwise", "layers", "reductions", "resizes", "shapes"]
