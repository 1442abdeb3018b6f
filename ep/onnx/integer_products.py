"""Products of dequantized numbers that become products of the integers themselves, as ONNX Runtime computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.onnx.graph import Branch, Node
from ep.onnx.operators.quantized import MICROSOFT
from ep.onnx.table import BY_DOMAIN, OPERATORS

NDArray = np.ndarray[Any, Any]
_BYTES: Final = np.dtype(np.int8), np.dtype(np.uint8)
_NEAR: Final = 2.0**-20
"""How far the scale of a bias may be from the product of the factors' scales, as a part of it: some roundings."""


class _Quantized(NamedTuple):
    """The names of integers, of their scale and of their zero point. axis: along which there are several scales."""

    x: str
    scale: str
    zero_point: str
    axis: int


def with_integer_products(
    nodes: Sequence[Node], constants: Mapping[str, NDArray], results: Sequence[str]
) -> tuple[Node, ...]:
    """Return nodes with products of bytes in the place of each Conv, MatMul and Gemm of dequantized bytes.

    A Conv needs a QuantizeLinear that alone reads it, perhaps behind a Relu that changes nothing: below 0 is
    the least integer in any case. The others may have it. Scales and zero points are constants, and a bias is int32
    with the product of the factors' scales. Other products stay as they are. results: the names of what others read.
    """
    if any(isinstance(one, Branch) for node in nodes for one in node.attributes.values()):
        return tuple(nodes)  # the graphs of nodes may read any value
    found = _Products(nodes, constants, results)
    for node in nodes:
        if node.line.name in ("Conv", "MatMul", "Gemm"):
            found.replace(node)
    return found.left()


class _Products:
    """Nodes by their places, some of which are replaced."""

    def __init__(self, nodes: Sequence[Node], constants: Mapping[str, NDArray], results: Sequence[str]) -> None:
        self._nodes = dict(enumerate(nodes))
        self._place = {name: k for k, node in enumerate(nodes) for name in node.outputs if name}
        self._constants, self._results = constants, results
        self._readers = Counter(name for node in nodes for name in node.inputs) + Counter(results)
        self._reader = {name: node for node in nodes for name in node.inputs}

    def left(self) -> tuple[Node, ...]:
        """Return the nodes, without dequantized numbers that no node reads any more."""
        read = {*self._results}.union(*(node.inputs for node in self._nodes.values()))
        nodes = [self._nodes[place] for place in sorted(self._nodes)]
        return tuple(node for node in nodes if node.line.name != "DequantizeLinear" or node.outputs[0] in read)

    def replace(self, product: Node) -> None:
        """Replace a product, and the nodes that quantize its result, if its factors are bytes."""
        kind, given = product.line.name, product.attributes
        a, b, *others = (self._read(name) for name in product.inputs)
        bias = others[0] if others else None
        if a is None or b is None or self._has_several(a) or (product.inputs[2:] and bias is None):
            return
        of_result = -1 if kind == "MatMul" else 0 if kind == "Conv" or given["transB"] else 1
        if self._has_several(b) and (b.x not in self._constants or not self._is_along(b, of_result)):
            return
        if kind == "Gemm" and (given["alpha"] != 1 or (bias is not None and given["beta"] != 1)):
            return
        if bias is not None and not self._fits(bias, a, b):
            return
        between, quantizer = self._quantizer(product)
        if quantizer is None and kind == "Conv":
            return
        factors, y = (*a[:3], *b[:3]), () if quantizer is None else quantizer.inputs[1:3]
        added = () if bias is None else (bias.x,)
        if kind == "Conv":
            name, inputs = "QLinearConv", (*factors, *y, *added)
        elif kind == "Gemm":
            name, inputs = "QGemm", (*factors, *(added or ("",)), *y)
            given = {one: given[one] for one in ("alpha", "transA", "transB")}
        elif quantizer is None:
            name, inputs = "MatMulIntegerToFloat", (a.x, b.x, a.scale, b.scale, a.zero_point, b.zero_point)
        else:
            name, inputs = "QLinearMatMul", (*factors, *y)
        line = (OPERATORS.get(name) or BY_DOMAIN[MICROSOFT][name])[0]
        try:
            line.fits(*map(self._constants.get, inputs), **given)  # type: ignore[misc]
        except (TypeError, ValueError):  # such as that sums might be no int32
            return
        for one in (product, *between):
            del self._nodes[self._place[one.outputs[0]]]
        outputs = (between or [product])[-1].outputs
        self._nodes[self._place[outputs[0]]] = Node(product.name, line, inputs, outputs, given)

    def _read(self, name: str) -> _Quantized | None:
        """Return the bytes that DequantizeLinear makes a value of by constants, or int32 numbers; None for others."""
        node = self._nodes.get(self._place.get(name, -1))
        if node is None or node.line.name != "DequantizeLinear" or node.attributes.get("block_size"):
            return None
        x, scale, zero_point = (*node.inputs, "")[:3]
        known = self._constants.get(zero_point or x)
        if known is None or known.dtype not in (*_BYTES, np.int32) or node.attributes.get("output_dtype"):
            return None
        if scale not in self._constants or self._constants[scale].dtype != np.float32:
            return None
        return _Quantized(x, scale, zero_point, node.attributes.get("axis", 1))

    def _has_several(self, one: _Quantized) -> bool:
        return self._constants[one.scale].shape not in ((), (1,))

    def _is_along(self, one: _Quantized, axis: int) -> bool:
        rank = self._constants[one.x].ndim
        return one.axis % rank == axis % rank

    def _fits(self, bias: _Quantized, a: _Quantized, b: _Quantized) -> bool:
        """Return whether integers can be added to the sums of products."""
        x, scale, of_a, of_b = (self._constants.get(name) for name in (bias.x, bias.scale, a.scale, b.scale))
        if x is None or scale is None or of_a is None or of_b is None or x.dtype != np.int32 or x.ndim != 1:
            return False
        if bias.zero_point and self._constants[bias.zero_point].any():
            return False
        wanted = of_a.astype(np.float64).reshape(()) * of_b.astype(np.float64)
        return scale.size in (1, wanted.size) and bool(np.allclose(scale.reshape(-1), wanted.reshape(-1), _NEAR, 0))

    def _quantizer(self, product: Node) -> tuple[list[Node], Node | None]:
        """Return the nodes behind a product that quantize its result, and the last of them; none if others read it."""
        found, one = list[Node](), product
        while self._readers[one.outputs[0]] == 1 and one.outputs[0] not in self._results:
            one = self._reader[one.outputs[0]]
            found.append(one)
            if one.line.name != "Relu" or len(found) > 1:
                break
        if one.line.name != "QuantizeLinear" or len(one.inputs) < 3:
            return [], None
        scale, zero = (self._constants.get(name) for name in one.inputs[1:3])
        if scale is None or zero is None or scale.size != 1 or scale.dtype != np.float32 or zero.dtype not in _BYTES:
            return [], None
        keeps_relu = len(found) > 1 and bool(zero != np.iinfo(zero.dtype).min)
        return ([], None) if keeps_relu else (found, one)
