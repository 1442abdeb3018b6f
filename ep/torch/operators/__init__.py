"""ATen's operators, by families, which fill the table."""

from ep.torch.operators import arithmetic, layers, resizes, shapes

__all__ = ["arithmetic", "layers", "resizes", "shapes"]
