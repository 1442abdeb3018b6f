"""Plans: a graph for inputs of certain sizes, as programs of ep, and steps that PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ep.common.arrays.on_device import arrays_on
from ep.expressions.memory import Arenas
from ep.torch.division import Division, Part, last_uses
from ep.torch.options import Options
from ep.torch.section import Section, Values
from ep.torch.sizing import Sizing, Symbols, tensors_in

_Step = tuple[Callable[[Values], None], Sequence[Node]]
"""A step, and the values that no later one reads."""


class Plan:
    """A graph for inputs of certain sizes.

    sections: the parts that `ep` computes. eager: the steps that PyTorch computes, and why.
    """

    def __init__(
        self,
        module: GraphModule,
        symbols: Symbols,
        args: Sequence[Any],
        refused: Mapping[Node, Exception],
        arenas: Arenas,
        options: Options,
    ) -> None:
        """args: the inputs of a call. refused: nodes that PyTorch must compute. arenas: the memory of the graph.

        Raises RefusedError for nodes that `ep` does not compute and that are not among the refused ones.
        """
        nodes = [*module.graph.nodes]
        self._placeholders = symbols.placeholders
        self._constants: Values = {one: getattr(module, one.target) for one in nodes if one.op == "get_attr"}
        (wanted,) = next(one for one in nodes if one.op == "output").args
        self._wanted: list[Any] = [*wanted] if isinstance(wanted, tuple | list) else [wanted]
        sizing = Sizing(symbols, args)
        division = Division(nodes, self._wanted, sizing, args, refused)
        self.eager, self._numbers = division.eager, division.numbers
        self.sections: list[Section] = []
        steps, base = list[Any](), arrays_on(options.device)
        for one in division.steps:
            if isinstance(one, Part):
                inputs, results = ({node: _sizes(sizing, node) for node in some} for some in (one.inputs, one.results))
                section = Section(base, arenas, options, one.nodes, inputs, self._numbers, results)
                self.sections.append(section)
                steps.append((section.run, one.inputs, one.results))
            else:
                read = [node for node in one.all_input_nodes if node not in self._numbers]
                steps.append((self._eager(one), read, [one]))
        kept = (*self._wanted, *self._constants)
        ends = last_uses([(read, made) for _, read, made in steps], kept)
        self._steps: list[_Step] = [(run, end) for (run, *_), end in zip(steps, ends, strict=True)]

    def run(self, args: list[Any]) -> list[Any]:
        """Return the results for inputs of these sizes. args: is emptied, so that no input lives longer than needed."""
        values = dict(zip(self._placeholders, args, strict=True))
        args.clear()
        values.update(self._constants)
        for step, ends in self._steps:
            step(values)
            for node in ends:
                del values[node]
        return [values[one] if one in values else self._numbers.get(one, one) for one in self._wanted]

    def _eager(self, node: Node) -> Callable[[Values], None]:
        """Return the step that lets PyTorch compute a node."""
        target: Any = node.target
        numbers = self._numbers

        def run(values: Values) -> None:
            def value_of(one: Node) -> Any:
                return numbers[one] if one in numbers else values[one]

            values[node] = target(*map_arg(node.args, value_of), **map_arg(node.kwargs, value_of))

        return run


def _sizes(sizing: Sizing, node: Node) -> Any:
    """Return the sizes of a tensor; None for a number."""
    tensors = tensors_in(node.meta.get("val"))
    return sizing.sizes(tensors[0]) if tensors else None
