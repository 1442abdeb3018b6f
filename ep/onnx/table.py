"""The implementations of ONNX's operators, with their opsets.

There is one line for each definition that an operator of ONNX has had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import onnx

from ep import ops
from ep.onnx.operators import choice, loops, scatter
from ep.onnx.operators import elementwise as e
from ep.onnx.operators import grids as g
from ep.onnx.operators import indices as i
from ep.onnx.operators import losses as l
from ep.onnx.operators import norms as b
from ep.onnx.operators import products as p
from ep.onnx.operators import recurrent as n
from ep.onnx.operators import reductions as r
from ep.onnx.operators import resize as z
from ep.onnx.operators import shapes as s
from ep.onnx.operators import windows as w
from ep.onnx.operators.attention import attention, check_attention
from ep.onnx.operators.attributes import by_attributes, one_of
from ep.onnx.operators.einsum import einsum
from ep.onnx.operators.powers import power
from ep.onnx.operators.rotary import rotary_embedding

DOMAINS: Final = ("", "ai.onnx")
"""The names of the operators that ONNX itself defines."""


class Line(NamedTuple):
    """The implementation of an ONNX operator. since: the first opset with this definition.
    function: its arguments are the inputs, None for omitted ones, and the attributes by name, with ONNX's defaults. It
    returns results, or one of the branches that the node has, whose nodes are computed in its place.
    host: the numbers of the inputs that are sizes, axes and the like; they are passed in host memory.
    of_shape: whether the result depends only on the shapes of inputs.
    counts: whether the function has a parameter `count`, the number of outputs of the node.
    most_outputs: the largest number of outputs that a node may use.
    false: the number of an input that must be omitted, or a constant false; -1 for none.
    check: is called with the attributes when the model is loaded, and raises NotImplementedError for unsupported ones.
    apart: whether it needs computed arrays, not traced ones.
    of_data: the function that returns an array instead of the input in host memory, if this one is not known when the
        node is planned; its arguments are the first input, that input, and the attributes. The node is then planned
        with the array, or without one for None.
    indices: the name of the input that has indices, for errors.
    first_state: the number of the first input that is a state, of an operator whose graph is computed for each step.
    """

    name: str
    since: int
    function: Callable[..., Any]
    host: tuple[int, ...] = ()
    of_shape: bool = False
    counts: bool = False
    most_outputs: int = 2**31
    false: int = -1
    check: Callable[..., Any] | None = None
    apart: bool = False
    of_data: Callable[..., Any] | None = None
    first_state: int | None = None
    indices: str = "indices"


_LINES: Final = (
    *(Line(name, 6, e.named(function)) for name, function in e.PLAIN.items()),
    Line("BitShift", 11, e.bit_shift, check=one_of(direction=("LEFT", "RIGHT"))),
    Line("Cast", 6, e.cast, check=s.check_type),
    Line("CastLike", 15, e.cast_like),
    Line("Celu", 12, ops.celu),
    Line("Clip", 6, by_attributes(e.clip_to, "min", "max")),
    Line("Clip", 11, e.clip),
    Line("Div", 7, e.div),
    Line("Dropout", 7, e.dropout_7),
    Line("Dropout", 10, e.dropout, false=2),
    Line("Elu", 6, ops.elu),
    Line("Erf", 9, e.erf),
    Line("Gelu", 20, e.gelu, check=one_of(approximate=("none", "tanh"))),
    Line("HardSigmoid", 6, e.hard_sigmoid),
    Line("IsInf", 10, e.is_inf),
    Line("LeakyRelu", 6, ops.leaky_relu),
    Line("Max", 6, e.folded(ops.maximum)),
    Line("Mean", 6, e.mean),
    Line("Min", 6, e.folded(ops.minimum)),
    Line("Mod", 10, e.mod),
    Line("Neg", 6, e.negative),
    Line("PRelu", 7, e.prelu),
    Line("Pow", 7, power),
    Line("Selu", 6, e.selu),
    Line("Shrink", 9, e.shrink),
    Line("Sign", 9, e.sign),
    Line("Sum", 6, e.folded(ops.add)),
    Line("Swish", 24, e.swish),
    Line("ThresholdedRelu", 10, e.thresholded_relu),
    Line("ArgMax", 1, r.arg_extreme(ops.argmax)),
    Line("ArgMin", 1, r.arg_extreme(ops.argmin)),
    Line("CumProd", 26, r.running(ops.cumulative_prod, 1), host=(1,)),
    Line("CumSum", 11, r.running(ops.cumulative_sum, 0), host=(1,)),
    Line("Hardmax", 1, r.flat(r.hardmax)),
    Line("Hardmax", 13, r.hardmax),
    Line("LogSoftmax", 1, r.flat(ops.log_softmax)),
    Line("LogSoftmax", 13, ops.log_softmax),
    *(Line(name, 1, by_attributes(r.reduction(function), "axes")) for name, function in r.REDUCTIONS.items()),
    *(
        Line(name, 13 if name == "ReduceSum" else 18, r.reduction(function), host=(1,))
        for name, function in r.REDUCTIONS.items()
    ),
    Line("Softmax", 1, r.flat(ops.softmax)),
    Line("Softmax", 13, ops.softmax),
    Line("If", 1, choice.choose, host=(0,)),
    Line("Loop", 1, loops.loop, host=(0, 1), apart=True, first_state=2),
    Line("Scan", 9, loops.scan, apart=True, first_state=0),
    Line("CenterCropPad", 18, s.center_crop_pad, host=(1,)),
    Line("Concat", 4, s.concat),
    Line("Constant", 1, s.constant),
    Line("ConstantOfShape", 9, s.constant_of_shape, host=(0,)),
    Line("DepthToSpace", 1, s.depth_to_space, check=s.check_order),
    Line("Expand", 8, s.expand, host=(1,)),
    Line("EyeLike", 9, s.eye_like, of_shape=True, check=s.check_type),
    Line("Flatten", 1, s.flatten),
    Line("Pad", 2, by_attributes(s.pad, "pads", "value"), check=s.check_mode),
    Line("Pad", 11, s.pad, host=(1, 2, 3), check=s.check_mode),
    Line("Range", 11, s.arange, host=(0, 1, 2)),
    *(Line(name, 17, function, host=(0,)) for name, function in g.WINDOWS.items()),
    Line("AffineGrid", 20, g.affine_grid, host=(1,)),
    Line("Reshape", 5, s.reshape, host=(1,)),
    Line("Shape", 1, s.shape, of_shape=True),
    Line("Size", 1, s.size, of_shape=True),
    Line("Slice", 1, by_attributes(s.slices, "starts", "ends", "axes")),
    Line("Slice", 10, s.slices, host=(1, 2, 3, 4)),
    Line("SpaceToDepth", 1, s.space_to_depth, check=s.check_order),
    Line("Split", 2, by_attributes(s.split, "split"), counts=True),
    Line("Split", 13, s.split, host=(1,), counts=True),
    Line("Squeeze", 1, by_attributes(s.squeeze, "axes")),
    Line("Squeeze", 13, s.squeeze, host=(1,)),
    Line("Tile", 6, s.tile, host=(1,)),
    Line("Transpose", 1, s.transpose),
    Line("Trilu", 14, s.trilu, host=(1,)),
    Line("Unsqueeze", 1, by_attributes(s.unsqueeze, "axes")),
    Line("Unsqueeze", 13, s.unsqueeze, host=(1,)),
    Line("Compress", 9, i.compress, host=(1,)),
    Line("Gather", 1, i.gather),
    Line("GatherElements", 11, i.gather_elements),
    Line("GatherND", 11, i.gather_nd),
    Line("ReverseSequence", 10, i.reverse_sequence, host=(1,)),
    Line("Scatter", 9, scatter.scatter_elements),
    Line("ScatterElements", 11, scatter.scatter_elements, check=scatter.check),
    Line("ScatterND", 11, scatter.scatter_nd, check=scatter.check),
    Line("TopK", 10, i.top_k, host=(1,)),
    Line("NonZero", 9, i.non_zero, host=(0,)),
    Line("OneHot", 9, i.one_hot, host=(1,)),
    Line("Attention", 23, attention, check=check_attention),
    Line("BatchNormalization", 7, b.batch_normalization, check=b.check_batch, most_outputs=1),
    Line("GroupNormalization", 21, b.group_normalization, check=b.check_stash),
    Line("InstanceNormalization", 6, b.instance_normalization),
    Line("LayerNormalization", 17, b.layer_normalization, check=b.check_stash),
    Line("LpNormalization", 1, b.lp_normalization, check=b.check_norm),
    Line("MeanVarianceNormalization", 9, b.mean_variance_normalization),
    Line("RMSNormalization", 23, b.rms_normalization, check=b.check_stash),
    Line("Einsum", 12, einsum),
    Line("NegativeLogLikelihoodLoss", 12, l.negative_log_likelihood, check=l.check_reduction, indices="target"),
    Line("SoftmaxCrossEntropyLoss", 12, l.softmax_cross_entropy, check=l.check_reduction, indices="labels"),
    Line("Gemm", 7, p.gemm),
    Line("MatMul", 1, ops.matmul),
    Line("GRU", 7, n.gru, host=(4,), check=n.check_functions("gru"), of_data=n.going_on),
    Line("LSTM", 7, n.lstm, host=(4,), check=n.check_functions("lstm"), of_data=n.going_on),
    Line("RNN", 7, n.rnn, host=(4,), check=n.check_functions("rnn"), of_data=n.going_on),
    Line("RotaryEmbedding", 23, rotary_embedding, indices="position_ids"),
    Line("Resize", 10, z.upsample, host=(1,), check=z.check),
    Line("Resize", 11, z.resize, host=(1, 2, 3), check=z.check),
    Line("Upsample", 7, by_attributes(z.upsample, "scales"), check=z.check),
    Line("Upsample", 9, z.upsample, host=(1,), check=z.check),
    Line("AveragePool", 7, w.average_pool, check=w.check),
    Line("CausalConvWithState", 27, w.causal_conv, check=w.check_activation),
    Line("Conv", 1, w.conv, check=w.check),
    Line("ConvTranspose", 1, w.conv_transpose, check=w.check),
    Line("GlobalAveragePool", 1, w.global_average_pool),
    Line("GlobalMaxPool", 1, w.global_max_pool),
    Line("LRN", 1, w.lrn),
    Line("LpPool", 2, w.lp_pool, check=w.check),
    Line("MaxPool", 1, w.max_pool, check=w.check),
)


def _by_name() -> Mapping[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in sorted(_LINES, key=lambda line: -line.since):
        found.setdefault(line.name, []).append(line)
    return found


OPERATORS: Final = _by_name()
"""The implementations of each operator, newest first."""


def line_of(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Line | None:
    """Return the implementation for a node of a model with these opsets, by domain; None if there is none."""
    if node.domain not in DOMAINS:
        return None
    opset = opset_of(node, opsets)
    return next((line for line in OPERATORS.get(node.op_type, ()) if line.since <= opset), None)


def opset_of(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int:
    """Return the opset that a node's operator is of; 0 if the model does not name it."""
    return opsets.get(node.domain) or opsets.get("", 0)
