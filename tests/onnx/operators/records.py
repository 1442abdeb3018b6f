"""All records of operators, by name."""

from tests.onnx.operators import (
    attention,
    elementwise,
    functions,
    indices,
    moves,
    norms,
    products,
    quantized,
    recurrent,
    reductions,
    resize,
    shapes,
    windows,
)

_FAMILIES = (
    attention,
    elementwise,
    functions,
    indices,
    moves,
    norms,
    products,
    quantized,
    recurrent,
    reductions,
    resize,
    shapes,
    windows,
)
RECORDS = {name: record for family in _FAMILIES for name, record in family.RECORDS.items()}
