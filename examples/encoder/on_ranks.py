"""mpiexec -n 4 python -m examples.encoder.on_ranks: similarities of sentences, by an encoder split over the ranks.

The first rank prints the similarities, the distance of its vectors from those of one process, and the moved bytes.
"""

from __future__ import annotations

import argparse

import numpy as np

from ep.mesh import Placement, reporting
from ep.mesh.world import world
from examples.encoder import model
from examples.encoder.split_encoder import SplitEncoder


def main(given: list[str] | None = None) -> None:
    """Run the command on this rank."""
    parser = argparse.ArgumentParser(prog="python -m examples.encoder.on_ranks", description=__doc__)
    parser.add_argument("sentence", nargs="+", help="two or more: each is compared with each")
    sentences = parser.parse_args(given).sentence
    alone = model.Model()
    encoder = SplitEncoder(model.config(), model.weights(), Placement(world().size))
    with reporting() as report:
        vectors = encoder.encode([alone.tokens(one) for one in sentences])
    counted = sum(world().from_all(lambda: report.sent, "the bytes that each sent"))
    if world().rank > 0:
        return
    for sentence, row in zip(sentences, vectors @ vectors.T, strict=True):
        print(" ".join(f"{similarity:.3f}" for similarity in row), sentence)
    apart = float(np.abs(vectors - alone.encode(sentences)).max())
    reduced = [one for one in report.changes if one.steps[0].move.name == "all-reduce"]
    print(f"{world().size} ranks: at most {apart:.1e} from one process, {len(reduced)} all-reduces")
    print(f"moved: {report.bytes:,} bytes by the cost model, {counted:,} handed to MPI")


if __name__ == "__main__":
    main()
