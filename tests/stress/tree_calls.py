"""Calls of TreeEnsemble."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ep.common.primitive.tree_nodes import packed
from ep.include import primitive as p
from ep.testing.references.tree_ensemble import random_trees, tree_ensemble
from ep.testing.samples import samples
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.movement_calls import more


@dataclass
class TreeCall(Call):
    """TreeEnsemble. trees: the nodes and the numbers of the roots, which its words are made of."""

    trees: Any = None

    def is_empty(self):
        return 0 in (int(self.arguments["num_rows"]), int(self.arguments["num_targets"]))

    def expected(self, device, primitive):
        at, (nodes, roots) = self.arguments, self.trees
        rows, features, targets, trees = (int(at[f"num_{name}"]) for name in ("rows", "features", "targets", "trees"))
        x = at["x"][: rows * features].reshape(rows, features)
        return tree_ensemble(self.entry.op, x, nodes, roots[:trees], targets).reshape(-1)


def tree_call(rng, device, entry, most):
    (data_type,) = entry.dtypes
    features, targets, trees = draw.size(rng, 13), draw.size(rng, 4), draw.size(rng, 20)
    rows = draw.size(rng, min(most, 500) // trees)
    found = random_trees(rng, data_type.dtype, (trees, draw.size(rng, 30), features), targets)
    words, roots = packed(*found, targets)
    sizes = {"num_rows": rows, "num_features": features, "num_targets": targets}
    sizes |= {"num_words": len(words), "num_trees": trees}
    if draw.chance(rng, 0.1):
        sizes[draw.pick(rng, ("num_rows", "num_trees"))] = 0
    arguments = {name: draw.spelled(rng, size) for name, size in sizes.items()}
    arguments["x"] = samples(rng, data_type, sizes["num_rows"] * features + more(rng))
    arguments["nodes"] = np.concatenate([words, words[: more(rng)]])
    arguments["roots"] = np.concatenate([roots, roots[: more(rng)]])
    arguments["out"] = background(sizes["num_rows"] * targets + more(rng), data_type)
    return TreeCall(entry, (), arguments, "out", trees=found)


MAKERS = {p.TreeEnsemble: tree_call}
