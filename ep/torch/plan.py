"""Plans: a graph for inputs of certain sizes, as programs of ep, and steps that PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ep.torch.division import Division, Part, last_uses
from ep.torch.section import Section, Target
from ep.torch.sizing import Sizing, Symbols

_Step = Callable[[list[Any]], None]
"""A step of a call. It reads the values of the call, and adds its own."""


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
        target: Target,
        *,
        at_once: bool = False,
    ) -> None:
        """args: the inputs of a call. refused: nodes that PyTorch must compute.
        at_once: whether the first call keeps the plan on disk.

        Raises RefusedError for nodes that `ep` does not compute and that are not among the refused ones.
        """
        nodes = [*module.graph.nodes]
        (wanted,) = nodes[-1].args
        results: list[Any] = [*wanted] if isinstance(wanted, tuple | list) else [wanted]
        sizing = Sizing(symbols, args)
        division = Division(nodes, results, sizing, args, refused)
        self.eager, numbers = division.eager, division.numbers
        constants = {node: getattr(module, node.target) for node in nodes if node.op == "get_attr"}
        # the values of a call: its inputs, and then those of the other nodes, of which some are known now
        inner = [node for node in nodes if node.op != "placeholder"]
        places: dict[Any, int] = {node: k for k, node in enumerate((*symbols.placeholders, *inner))}
        self._rest = [constants.get(node, numbers.get(node)) for node in inner]
        for one in results:
            if places.setdefault(one, len(places)) >= len(symbols.placeholders) + len(self._rest):
                self._rest.append(one)
        self._results = [places[one] for one in results]
        self.sections: list[Section] = []
        steps = list[tuple[_Step, Sequence[Node], Sequence[Node]]]()
        for step in division.steps:
            if isinstance(step, Part):
                section = Section(target, step, sizing, numbers, places, at_once)
                self.sections.append(section)
                steps.append((section.run, step.inputs, step.results))
            else:
                steps.append(
                    (_eager(step, places), [one for one in step.all_input_nodes if one not in numbers], [step])
                )
        kept = {*constants, *(one for one in results if isinstance(one, Node))}
        ends = last_uses([(read, written) for _, read, written in steps], kept)
        self._steps = [(run, [places[node] for node in end]) for (run, *_), end in zip(steps, ends, strict=True)]

    def run(self, args: list[Any]) -> list[Any]:
        """Return the results for inputs of these sizes. args: is emptied, so that no input lives longer than needed."""
        values = args + self._rest
        args.clear()
        for step, ends in self._steps:
            step(values)
            for place in ends:
                values[place] = None
        return [values[place] for place in self._results]


def _eager(node: Node, places: Mapping[Node, int]) -> _Step:
    """Return the step that lets PyTorch compute a node."""
    target, place = node.target, places[node]

    def run(values: list[Any]) -> None:
        def value_of(other: Node) -> Any:
            return values[places[other]]

        values[place] = target(*map_arg(node.args, value_of), **map_arg(node.kwargs, value_of))

    return run
