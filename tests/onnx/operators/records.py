"""All records of operators, by family and by name."""

from tests.onnx.operators import (
    attention,
    elementwise,
    functions,
    indices,
    moves,
    norms,
    products,
    recurrent,
    reductions,
    resize,
    shapes,
    windows,
)

FAMILIES = {
    "attention": attention.RECORDS,
    "elementwise": elementwise.RECORDS,
    "functions": functions.RECORDS,
    "indices": indices.RECORDS,
    "moves": moves.RECORDS,
    "norms": norms.RECORDS,
    "products": products.RECORDS,
    "recurrent": recurrent.RECORDS,
    "reductions": reductions.RECORDS,
    "resize": resize.RECORDS,
    "shapes": shapes.RECORDS,
    "windows": windows.RECORDS,
}
RECORDS = {name: record for family in FAMILIES.values() for name, record in family.items()}
