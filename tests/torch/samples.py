"""PyTorch's own samples of its operators, computed by ep and by eager: results, types, strides, gradients.

A sample is traced by AOTAutograd at once, without dynamo, which would hand the backend the same call and take longer.
"""

import itertools
import random
from functools import cache

import numpy as np
import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import Graph, GraphModule, Node
from torch.fx.traceback import annotate
from torch.testing._internal import common_methods_invocations
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from ep.torch.aot import compiled, compiler, decompositions
from ep.torch.division import is_random
from ep.torch.section import Options
from tests.torch.compared import TOLERANCES

TYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
WHOLE, FORWARD, PART, NONE = MARKS = "wfp-"
"""What is in ep: the results and the gradients; the results, but not all of the gradients; not all; PyTorch's tracing
makes no graph of the sample, or eager has no tensor for it. Random numbers of PyTorch's generator do not count."""

NO_GRAPH = "PyTorch makes no graph of several samples, or not the one of eager"
"""Why samples are compared alone that do not differ from eager."""

NOT_SET = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
"""The operators whose elements are those that were in memory: they are not compared."""
ANY_ORDER = {"argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk"}
"""The operators that may return any order of equal elements: their indices are not compared, and gradients by equal
elements are compared in the order of their sizes."""
TOLERANCES_OF = dict.fromkeys(
    (
        *("digamma", "nn.functional.gelu", "nn.functional.hardsigmoid", "special.polygamma.special_polygamma_n_0"),
        *(f"polygamma.polygamma_n_{k}" for k in range(5)),
    ),
    1e-8,
)
"""Larger tolerances: PyTorch's second derivative of log gamma is a series with errors of 1e-9, its gradient of
hardsigmoid has 1 / 6 in float32, and `ep.ops.fast_gelu` has 0.044715 in float32, as OneFlow."""
OTHER_GRAPHS = {
    "nn.functional.max_unpool2d": "PyTorch's decomposition is contiguous, whatever the operand is",
    "nn.functional.max_unpool2d.grad": "PyTorch's decomposition is contiguous, whatever the operand is",
}
"""The operators of which PyTorch makes graphs that differ from eager, with reasons: ep is compared with PyTorch's own
results of the graph."""
NOT_COMPUTED = {
    "_batch_norm_with_update": "PyTorch says another type of float16's statistics than its kernel returns",
    "_native_batch_norm_legit": "PyTorch says another type of float16's statistics than its kernel returns",
    **dict.fromkeys(
        (
            *(f"jiterator_{kind}" for kind in ("unary", "binary", "binary_return_by_ref", "2inputs_2outputs")),
            "jiterator_4inputs_with_extra_args",
        ),
        "there is none on the CPU",
    ),
}
"""The operators whose samples are left out, with reasons."""
# samples set the seed in the call, where a graph has no part of it: _computed does before the call
common_methods_invocations.wrapper_set_seed = lambda function, *args, **kwargs: function(*args, **kwargs)
_CALLS = 3  # the first plans, the second records, the third repeats


@cache
def operators():
    """Return PyTorch's descriptions of its operators, by name."""
    return {".".join(filter(None, (one.name, one.variant_test_name))): one for one in common_methods_invocations.op_db}


def samples(name, dtype, last=None):
    """Return the samples of an operator in a type, up to a number; none if it does not take the type, or if there is no
    such operator in this version of PyTorch."""
    operator, dtype = operators().get(name), getattr(torch, dtype)
    if operator is None or dtype not in operator.dtypes or name in NOT_COMPUTED:
        return []
    torch.manual_seed(0)
    random.seed(0)
    has_gradient = dtype in operator.supported_backward_dtypes("cpu") and dtype.is_floating_point
    try:
        found = operator.sample_inputs("cpu", dtype, requires_grad=has_gradient)
        return [*itertools.islice(found, last)]
    except (RuntimeError, NotImplementedError):  # of this type, there are none
        return []


def chosen(count, most):
    """Return the numbers of `most` samples of `count`, two or more: the first, the last, others at even distances."""
    return [k * (count - 1) // max(most - 1, 1) for k in range(most)] if most < count else [*range(count)]


class _Function:
    """A function of the tensors that it has."""

    __name__ = "call"  # graphs ask functions for it

    def module(self):
        graph = Graph()
        inputs = [graph.placeholder(f"x{k}") for k in range(len(self.tensors))]
        graph.output(graph.call_function(self, tuple(inputs)))
        return GraphModule(torch.nn.Module(), graph)


class _Call(_Function):
    """A call of an operator."""

    def __init__(self, operator, sample):
        self._operator = operator
        self.leaves, self._form = tree_flatten((sample.input, sample.args, sample.kwargs))
        self._places = [k for k, one in enumerate(self.leaves) if isinstance(one, torch.Tensor)]
        self.tensors = [self.leaves[k] for k in self._places]

    def __call__(self, *tensors):
        leaves = [*self.leaves]
        for k, tensor in zip(self._places, tensors, strict=True):
            leaves[k] = tensor
        first, args, kwargs = tree_unflatten(leaves, self._form)
        return tree_leaves(self._operator.op(first, *args, **kwargs))

    def kind(self):
        """Return all that a graph of the call follows from: all but the elements of its tensors."""
        forms = []
        memory = [one.untyped_storage().data_ptr() if _is_strided(one) else id(one) for one in self.tensors]
        for one, address in zip(self.tensors, memory, strict=True):
            layout = (one.stride(), one.storage_offset()) if _is_strided(one) else one.layout
            flags = one.requires_grad, one.is_conj(), one.is_neg()
            forms.append((one.dtype, one.shape, layout, flags, memory.index(address)))
        others = [(type(one), one) for one in self.leaves if not isinstance(one, torch.Tensor)]
        return repr((self._operator.name, self._operator.variant_test_name, self._form, self._places, forms, others))

    def wide(self):
        """Return the call in float64."""
        found = _Call.__new__(_Call)
        found._operator, found._form, found._places = self._operator, self._form, self._places
        found.leaves = [_widened(one) for one in self.leaves]
        found.tensors = [found.leaves[k] for k in self._places]
        return found


class _ByCalls:
    """A graph of `_Calls`, as a graph of each call: one kernel of several calls would be of no other use.

    parts: the graphs of the calls.
    """

    def __init__(self, module, count, number_of_results=()):
        """number_of_results: the numbers of the calls of results; by default, what the nodes say."""
        self._boxed_call = True
        nodes, compile_graph = [*module.graph.nodes], compiler(Options())
        (self._results,) = nodes.pop().args
        inputs = [node for node in nodes if node.op == "placeholder"]
        number_of = (
            dict(zip(self._results, number_of_results, strict=True))
            if number_of_results
            else {node: node.meta["custom"]["call"] for node in nodes if "call" in node.meta.get("custom", ())}
        )
        for node in reversed(nodes):
            number_of.setdefault(node, max((number_of.get(one, -1) for one in node.users), default=-1))
        for node in nodes:
            number_of[node] = max(number_of[node], *(number_of[one] for one in node.all_input_nodes), -1)
        self._of_input = {node: k for k, node in enumerate(inputs)}
        self.parts, self._read, self._written = [], [], []
        for number in range(count):
            some = [node for node in nodes if number_of[node] == number]
            written = [
                one
                for one in self._results
                if number_of.get(one) == number and isinstance(one, Node) and one.op != "placeholder"
            ]
            part, values = Graph(), {}
            for node in some:
                values[node] = part.node_copy(node, values.__getitem__)
            part.output([values[node] for node in written])
            self.parts.append(compile_graph(GraphModule(module, part)))
            self._read.append([self._of_input[node] for node in some if node in self._of_input])
            self._written.append(written)

    def __call__(self, args):
        found = {node: args[k] for node, k in self._of_input.items()}
        for part, read, written in zip(self.parts, self._read, self._written, strict=True):
            found.update(zip(written, part([args[k] for k in read]), strict=True))
        args.clear()
        return [found[one] if isinstance(one, Node) else one for one in self._results]


class _Calls(_Function):
    """Calls, one after another. A call notes for each result which call it is of, and which one of it, and which calls
    have any. The nodes of a graph say which call they are of."""

    def __init__(self, calls):
        self._calls = calls
        self.tensors = [tensor for call in calls for tensor in call.tensors]
        self.numbers = [k for k, call in enumerate(calls) for _ in call.tensors]
        self.variables = [k for k, one in zip(self.numbers, self.tensors, strict=True) if one.requires_grad]

    def __call__(self, *tensors):
        left, self.results, self.has_tensors, found = iter(tensors), [], [], []
        for k, call in enumerate(self._calls):
            with annotate({"call": k}):
                some = call(*itertools.islice(left, len(call.tensors)))
            found += some
            self.results += [(k, number) for number in range(len(some))]
            self.has_tensors.append(any(isinstance(one, torch.Tensor) for one in some))
        return found


def _is_strided(tensor):
    return tensor.layout is torch.strided


def _widened(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().double().requires_grad_(value.requires_grad)
    return torch.float64 if isinstance(value, torch.dtype) and value.is_floating_point else value


def _computed(function, tensors, like=None):
    """Return the results of a function, and the gradients by all tensors that require them.

    like: results whose types the gradients by results are rounded to; the function's own by default.
    """
    torch.manual_seed(1)
    results = function(*tensors)
    inputs = [one for one in tensors if one.requires_grad]
    pairs = [(one, other) for one, other in zip(results, like or results, strict=True) if _is_variable(one)]
    if not pairs or not inputs:
        return results, []
    dys = [
        torch.linspace(-1, 2, one.numel(), dtype=other.dtype).reshape(one.shape).to(one.dtype) for one, other in pairs
    ]
    return results, torch.autograd.grad([one for one, _ in pairs], inputs, dys, allow_unused=True)


def _is_variable(value):
    return isinstance(value, torch.Tensor) and value.requires_grad and value.is_floating_point()


def compare(name, sample, known):
    """Return what is in ep of a sample, one of MARKS, and whether a result differs by roundings: from eager by more
    than TOLERANCES, but from the result in float64 by no more than twice what eager does.

    known: the compiled calls of earlier samples, by their kinds, to which that of this one is added.

    Raises AssertionError for other differences, and the errors of ep.
    """
    call, graphs = _Call(operators()[name], sample), []
    try:
        expected = _computed(call, call.tensors)
    except (RuntimeError, ValueError, TypeError):  # samples for what is an error
        return NONE, False
    if not any(isinstance(one, torch.Tensor) for one in expected[0]):
        return NONE, False
    if name in OTHER_GRAPHS:
        options = dict.fromkeys(("fw_compiler", "bw_compiler", "inference_compiler"), lambda graph, _: graph)
        graph = aot_autograd(**options, decompositions=decompositions())(call.module(), call.tensors)
        expected = _computed(graph, call.tensors)
    if (kind := call.kind()) in known:
        made, graphs = known[kind]
    else:
        try:
            compile_graph = compiler(Options())
            made = compiled(call.module(), call.tensors, lambda graph: _noted(graphs, compile_graph(graph)))
        except (RuntimeError, AssertionError):
            if not graphs:
                return NONE, False
            raise
        known[kind] = made, graphs
    for _ in range(_CALLS):
        found = _computed(made, call.tensors)
    differences = [*_differences(name, call.tensors, found, expected, range(len(expected[0])))]
    if differences:
        wide = call.wide()
        exact = _computed(wide, wide.tensors, expected[0])
        for part, k, message in differences:
            trio = (one[part][k] for one in (found, expected, exact))
            assert message.startswith("Tensor-likes") or message.startswith("Scalars"), message
            assert _is_rounding(*trio), f"{'gradient' if part else 'result'} {k}: {message}"
    return _in_ep(graphs), bool(differences)


def compare_together(name, some):
    """Compare samples in one graph, which takes a part of the time: tracing takes most of it.

    Returns for each sample what is in ep of it, one of MARKS, and why it must be compared alone, if it must.
    """
    if name in OTHER_GRAPHS:
        return [(NONE, NO_GRAPH)] * len(some)
    calls, graphs = _Calls([_Call(operators()[name], one) for one in some]), []

    def compile_graph(graph):
        return _noted(graphs, _ByCalls(graph, len(some), calls.numbers if graphs else ()))

    try:
        expected = _computed(calls, calls.tensors)
        made = compiled(calls.module(), calls.tensors, compile_graph)
        for _ in range(_CALLS):
            found = _computed(made, calls.tensors)
    except Exception as error:
        return [(NONE, f"{type(error).__name__}: {error}" if graphs else NO_GRAPH)] * len(some)
    why = ["" if has_any else "no result is a tensor" for has_any in calls.has_tensors]
    for part, k, message in _differences(name, calls.tensors, found, expected, [one for _, one in calls.results]):
        why[calls.variables[k] if part else calls.results[k][0]] = message
    return [(_in_ep([graph.parts[k] for graph in graphs]), one) for k, one in enumerate(why)]


def _noted(graphs, graph):
    graphs.append(graph)
    return graph


def _in_ep(graphs):
    """Return what is in ep of graphs, forward and backward: one of MARKS."""
    steps = [[node for node in graph.any_plan().eager if not is_random(node)] for graph in graphs]
    return PART if steps and steps[0] else FORWARD if any(steps) else WHOLE


def _differences(name, tensors, found, expected, numbers):
    """Yield the differences of results, and of gradients: 0 or 1, which one, and how it differs.

    tensors: the operands. numbers: for each result, which one of its call it is.
    """
    inputs, has_any_order = [one for one in tensors if one.requires_grad], name in ANY_ORDER
    for part, (results, wanted) in enumerate(zip(found, expected, strict=True)):
        for k, pair in enumerate(zip(results, wanted, strict=True)):
            has_elements = name not in NOT_SET
            if has_any_order and part:
                pair = [_by_size(one, inputs[k]) for one in pair]
            elif has_any_order and getattr(pair[1], "dtype", None) is torch.int64:
                has_elements = numbers[k] == 0 and name != "argsort"
            if message := _difference(
                *pair, TOLERANCES_OF.get(name, 0), has_strides=part == 0, has_elements=has_elements
            ):
                yield part, k, message


def _by_size(gradient, x):
    """Return the elements of a gradient in the order of x, and those by equal elements in their own."""
    if gradient is None:
        return None
    keys = [one.detach().double().flatten().numpy() for one in (gradient, x)]
    return gradient.flatten()[torch.from_numpy(np.lexsort(keys))]


def _difference(result, wanted, tolerance, *, has_strides, has_elements):
    """Return how a result differs from the one that is wanted; an empty text if it does not."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(result, torch.Tensor):
        none = result is None or wanted is None  # a gradient of zeros may be none
        zeros = [one for one in (result, wanted) if isinstance(one, torch.Tensor)]
        return "" if result == wanted or (none and not any(one.any() for one in zeros)) else f"{result}, not {wanted}"
    if wanted.layout is not torch.strided:
        return "" if result.layout is wanted.layout else f"layout {result.layout}, not {wanted.layout}"
    if has_strides:
        strides = [
            [stride for size, stride in zip(one.shape, one.stride(), strict=True) if size != 1]
            for one in (result, wanted)
        ]
        if result.shape == wanted.shape and strides[0] != strides[1] and wanted.numel():
            return f"strides {result.stride()}, not {wanted.stride()}"
        if result.requires_grad != wanted.requires_grad:
            return f"requires_grad {result.requires_grad}"
    if not has_elements:
        result = wanted if (result.shape, result.dtype) == (wanted.shape, wanted.dtype) else result
    tolerance = max(tolerance, TOLERANCES.get(wanted.dtype, 0))
    try:
        torch.testing.assert_close(result, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""


def _is_rounding(result, wanted, exact):
    """Return whether a result is the exact one, rounded, or about as near to it as the one that is wanted."""
    if not wanted.is_floating_point() or exact is None or exact.shape != wanted.shape:
        return False
    is_exact = result == exact.to(result.dtype)  # infinite, where eager has the difference of two infinities
    result, wanted, exact = (one.detach().double() for one in (result, wanted, exact))
    differs = ~(is_exact | (result == wanted) | (result.isnan() & wanted.isnan()))
    if not differs.any():
        return True
    errors = [(one - exact)[differs].abs().max() for one in (result, wanted)]
    return bool(errors[0].isfinite() and not errors[0] > 2 * errors[1])  # eager's may be none, after an overflow
