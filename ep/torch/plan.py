"""Plans: a graph for inputs of certain sizes, as programs of ep, and steps that PyTorch computes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _BoxedCodeGen

from ep.torch.division import Division, Part
from ep.torch.section import Section, Target
from ep.torch.sizing import Sizing, Symbols


class Plan(NamedTuple):
    """A graph for inputs of certain sizes.

    run: returns the results for a list of inputs, which it empties, so that none lives longer than needed. sections:
    the parts that `ep` computes. eager: the nodes that PyTorch computes, and why.
    """

    run: Callable[[list[Any]], list[Any]]
    sections: Sequence[Section]
    eager: Mapping[Node, str]


def planned(
    module: GraphModule,
    symbols: Symbols,
    args: Sequence[Any],
    refused: Mapping[Node, Exception],
    target: Target,
    *,
    at_once: bool = False,
) -> Plan:
    """Return the plan of a graph: another graph, whose nodes are sections, and steps and views of PyTorch.

    args: the inputs of a call. refused: nodes that PyTorch must compute. at_once: whether the first call keeps the plan
    on disk.

    Raises RefusedError for nodes that `ep` does not compute and that are not among the refused ones.
    """
    sizing, graph, sections = Sizing(symbols, args), Graph(), list[Section]()
    (wanted,) = module.graph.output_node().args
    results: Sequence[Any] = wanted if isinstance(wanted, tuple | list) else [wanted]
    division = Division([*symbols.said], results, sizing, refused)
    made = {node: graph.node_copy(node) for node in symbols.said if node.op in ("placeholder", "get_attr")}

    def value_of(node: Any) -> Any:
        if not isinstance(node, Node):
            return node
        if node in sizing.numbers:
            return sizing.numbers[node]
        if node not in made:
            made[node] = graph.node_copy(node, value_of)
        return made[node]

    for step in division.steps:
        if isinstance(step, Part):
            sections.append(Section(target, step, sizing, at_once))
            found = graph.call_function(sections[-1].run, tuple(map(value_of, step.inputs)))
            made |= {node: graph.call_function(operator.getitem, (found, k)) for k, node in enumerate(step.results)}
        else:
            value_of(step)
    graph.output([value_of(one) for one in results])
    graph.set_codegen(_BoxedCodeGen())
    return Plan(GraphModule(module, graph).forward, sections, division.eager)
