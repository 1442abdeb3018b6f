"""A graph of PyTorch as a callable: for inputs of certain sizes, another graph, of sections and steps of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import sympy
import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _BoxedCodeGen
from torch.fx.node import map_arg

from ep.common.bounded_cache import BoundedCache
from ep.garbage import garbage_waits
from ep.include.additions import forget_when_added
from ep.include.errors import LackingError, UnsupportedPrimitiveError
from ep.torch.division import divided, is_random
from ep.torch.section import RefusedError, Section, Target
from ep.torch.tensors import tensors_in, values_in

_NUMBERS: Final = bool, int, float


def _sizes_of(value: Any) -> list[Any]:
    """Return the numbers that the traced value of a node has: sizes and strides, or the number that it is."""
    return [*value.shape, *value.stride()] if isinstance(value, torch.Tensor) else [value]


class Sizes:
    """A graph, and the symbols of PyTorch that the sizes of its tensors depend on. A number that has others is data.

    placeholders: the nodes of the inputs. vary: whether sizes of inputs vary.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        tensors = [tensor for node in graph.nodes for tensor in tensors_in(node.meta.get("val"))]
        sizes = [size for tensor in tensors for size in _sizes_of(tensor) if isinstance(size, torch.SymInt)]
        self._symbols = {symbol for size in sizes for symbol in size.node.expr.free_symbols}
        self._varying = [k for k, node in enumerate(self.placeholders) if self._varies(node.meta.get("val"))]
        self.vary = self._varying != []

    def _varies(self, value: Any) -> bool:
        if isinstance(value, torch.SymInt):
            return bool(value.node.expr.free_symbols <= self._symbols)
        return type(value) in _NUMBERS or any(isinstance(size, torch.SymInt) for size in _sizes_of(value))

    def key(self, args: Sequence[Any]) -> Hashable:
        """Return what distinguishes plans: the sizes of inputs that vary."""
        given = [args[k] for k in self._varying]
        return tuple([(one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in given])

    def graph(self, args: Sequence[Any]) -> Graph:
        """Return the graph for inputs of certain sizes, with the numbers that follow from these in their places.

        args: the inputs, or what PyTorch traced the graph with. The nodes have in `meta` the key "sizes", for shape and
        strides in elements of each result, [] for what is no tensor, or None if they depend on data; "traced" for the
        node that each is made of; and "kind" for the type of an input.
        """
        given, known, made = dict(zip(self.placeholders, args, strict=True)), dict[Any, Any](), dict[Node, Any]()
        for node, one in given.items():
            for size, number in zip(_sizes_of(node.meta.get("val")), _sizes_of(one), strict=False):  # it may be None
                if isinstance(size, torch.SymInt) and size.node.expr in self._symbols and number is not None:
                    known[size.node.expr] = sympy.Integer(int(number))

        def number_of(size: Any) -> Any:
            found = size.node.expr.xreplace(known) if isinstance(size, torch.SymInt) else size
            return int(found) if getattr(found, "is_Integer", False) else size

        def sizes_of(some: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(map(number_of, some))

        graph = Graph()
        for node in self._graph.nodes:
            copy, said = graph.node_copy(node, made.__getitem__), node.meta.get("val")
            sizes = [
                [*map(sizes_of, (one.shape, one.stride()))] if isinstance(one, torch.Tensor) else []
                for one in values_in(said)
            ]
            is_known = all(type(size) is int for pair in sizes for some in pair for size in some)
            copy.meta |= {"sizes": sizes if is_known else None, "traced": node, "kind": type(given.get(node))}
            number = given[node] if node in given and type(said) in _NUMBERS else number_of(said)
            made[node] = number if type(number) in _NUMBERS else copy
        return graph


class SpecializedModule(NamedTuple):
    """A graph for inputs of certain sizes.

    run: returns the results for a list of inputs, which it empties, so that none lives longer than needed. sections:
    the parts that `ep` computes. eager: the nodes that PyTorch computes, and why.
    """

    run: Callable[[list[Any]], list[Any]]
    sections: Sequence[Section]
    eager: Mapping[Node, str]

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return {key: size for section in self.sections for key, size in section.holds.items()}


class CompiledGraph:
    """A graph of AOTAutograd on a device: a plan for each combination of input sizes. Several threads may call it."""

    def __init__(self, module: GraphModule, target: Target, graphs: list[CompiledGraph]) -> None:
        """graphs: those of the same program, forward and backward: this one is added."""
        module.graph.eliminate_dead_code()
        self._boxed_call = True  # says to AOTAutograd that the inputs come in a list, which a call empties
        self._module, self._target, self._graphs = module, target, graphs
        graphs.append(self)
        self._sizes = Sizes(module.graph)
        self.forget()
        forget_when_added(self)  # with a kernel more, PyTorch or the other device computes less

    def forget(self) -> None:
        """Forget all plans. A call that has begun keeps its own."""
        self._refused: dict[str, Exception] = {}
        self._plans = BoundedCache(attrgetter("holds"))

    def __call__(self, args: list[Any]) -> list[Any]:
        """Return the results. Raises NotImplementedError for steps that PyTorch would compute, where those are errors,
        and LackingError, which lists all that the device lacks."""
        key = self._sizes.key(args) if self._sizes.vary else ()
        plans = self._plans
        plan = plans.get(key) or plans.keep(key, lambda: self._new_plan(args))
        return plan.run(args)

    def any_plan(self) -> SpecializedModule:
        """Return a plan that there is; if there is none yet, one for the sizes that PyTorch traced the graph with."""
        for plan in (*self._plans.values(), *self._plans.older.values()):
            return plan  # type: ignore[no-any-return]
        said = [node.meta.get("val") for node in self._sizes.placeholders]
        return self.plan([one.node.hint if isinstance(one, torch.SymFloat) else one for one in said])

    def _new_plan(self, args: Sequence[Any]) -> SpecializedModule:
        """Return what `plan` does. A LackingError has what the gradients lack, too."""
        try:
            return self.plan(args)
        except LackingError as error:
            lacking = dict.fromkeys(error.reasons)
        for graph in self._graphs:
            try:
                graph is self or graph.any_plan()
            except LackingError as error:
                lacking |= {f"for gradients, {one}": None for one in error.reasons if one not in lacking}
        raise LackingError(self._target.options.device.tag, lacking)

    def plan(self, args: Sequence[Any]) -> SpecializedModule:
        """Return a new plan for inputs of some sizes."""
        with garbage_waits():
            plan, graph = None, self._sizes.graph(args)
            while plan is None:  # as long as sections have nodes that are refused
                try:
                    plan = self._planned(graph)
                except RefusedError as error:
                    self._refused.update(error.reasons)
        steps = [f"{node.name} ({node.target}): {why}" for node, why in plan.eager.items() if not is_random(node)]
        if self._target.options.strict and steps:
            listed = "\n  ".join(steps)
            raise NotImplementedError(f"PyTorch would compute {len(steps)} steps, and strict is set:\n  {listed}")
        return plan

    def _planned(self, graph: Graph) -> SpecializedModule:
        """Return a plan: another graph, whose nodes are sections, and steps and views of PyTorch.

        graph: for certain sizes. Raises RefusedError for nodes that `ep` does not compute and that are not among the
        refused ones, and LackingError for all that the device lacks.
        """
        graph.eliminate_dead_code()
        options, lacking = self._target.options, list[UnsupportedPrimitiveError]()
        steps, eager = divided(graph, self._refused)
        made, found, sections, at_once = dict[Node, Any](), Graph(), list[Section](), not self._plans

        def value_of(node: Node) -> Any:
            if node not in made:
                made[node] = found.node_copy(node, value_of)
            return made[node]

        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                value_of(node)
        for step in steps:
            if isinstance(step, Node):
                value_of(step)
            else:
                try:
                    sections.append(Section(self._target, step, at_once))
                except LackingError as error:  # what other sections lack is told, too
                    lacking.append(error)
                else:
                    made |= sections[-1].add(found, value_of)
        if options.needs_all:
            lacking += [one for one in self._refused.values() if isinstance(one, UnsupportedPrimitiveError)]
        if lacking:
            raise LackingError(options.device.tag, lacking)
        (results,) = graph.output_node().args
        found.output(map_arg([*results] if isinstance(results, tuple | list) else [results], value_of))
        found.set_codegen(_BoxedCodeGen())
        return SpecializedModule(GraphModule(self._module, found).forward, sections, eager)
