"""All records of operators, by name."""

from importlib import import_module

_FAMILIES = [
    *("attention", "elementwise", "functions", "indices", "moves", "norms", "products"),
    *("quantized", "recurrent", "reductions", "resize", "shapes", "windows"),
]
_MODULES = [import_module(f"tests.onnx.operators.{family}") for family in _FAMILIES]
RECORDS = {name: record for module in _MODULES for name, record in module.RECORDS.items()}
