"""The examples on ranks that mpiexec starts, compared with one process; bytes moved, compared with the cost model."""

import numpy as np
import pytest

from ep.mesh import Placement, reporting
from ep.sbp import Broadcast, PartialSum, bytes_moved
from examples.encoder.encoder import Encoder
from examples.encoder.split_encoder import SplitEncoder
from tests.examples import bert
from tests.examples.test_encoder import SMALL, with_weights
from tests.mesh.jobs import mpiexec, mpiexec_in_turn

pytest.importorskip("mpi4py")

CONFIG = SMALL._replace(hidden_size=32, num_attention_heads=4)


def small():
    """Return weights and sentences of several lengths, the same on all ranks."""
    rng = np.random.default_rng(11)
    return bert.random_weights(CONFIG, rng), [rng.integers(0, 50, length).tolist() for length in (5, 9, 1)]


def check_small_weights():
    """Check the example on this rank; every rank calls this."""
    from ep.mesh.world import world

    weights, sentences = small()
    encoder = SplitEncoder(CONFIG, weights, Placement(world().size))
    with reporting() as report:
        vectors = encoder.encode(sentences)
    want = np.array([bert.encode(CONFIG, weights, ids) for ids in sentences])
    np.testing.assert_allclose(vectors, want, atol=2e-6)
    np.testing.assert_allclose(vectors, Encoder(CONFIG, weights).encode(sentences), atol=2e-6)
    shape = (3 * 9, CONFIG.hidden_size)
    assert [(one.shape, one.steps[0].move.name) for one in report.changes if one.bytes] == [
        (shape, "all-reduce") for _ in range(2 * CONFIG.num_hidden_layers)
    ]
    expected = 2 * CONFIG.num_hidden_layers * bytes_moved(PartialSum(), Broadcast(), shape, 4, world().size)
    assert report.bytes == sum(world().from_all(lambda: report.sent, "sent")) == expected
    print("as one process")


PROGRAM = "from tests.examples.test_on_ranks import check_small_weights; check_small_weights()"


@pytest.mark.ep_long
@pytest.mark.parametrize("ranks", [2, 4])
def test_an_encoder_that_ranks_share(ranks):
    assert mpiexec_in_turn(ranks, "-c", PROGRAM).count("as one process") == ranks


def test_ranks_that_do_not_divide_the_heads():
    said = mpiexec(
        3,
        "-c",
        "from tests.examples.test_on_ranks import *\nSplitEncoder(CONFIG, small()[0], Placement(3))",
        fails=True,
    )
    assert "ValueError: 3 ranks do not divide 4 heads" in said


@pytest.mark.ep_long
def test_a_table_that_no_rank_has_whole():
    said = mpiexec_in_turn(4, "-m", "examples.embedding_on_ranks").splitlines()
    assert said[0] == "gather: S(0), B -> P"
    moved = bytes_moved(PartialSum(), Broadcast(), (1024, 768), 4, 4)
    assert said[-1] == f"equal to the whole; {moved:,} bytes by the cost model, {moved:,} handed to MPI"


@with_weights
def test_real_weights():
    pytest.importorskip("tokenizers")
    sentences = ("A man plays the guitar.", "Someone is making music.", "The stock market fell.")
    *similar, apart, moved = mpiexec_in_turn(2, "-m", "examples.encoder.on_ranks", *sentences).splitlines()
    assert len(similar) == 3
    assert float(apart.split()[4]) < 2e-6
    assert apart.endswith(" 12 all-reduces")
    counts = [word for word in moved.split() if word[0].isdigit()]
    assert counts[0] == counts[1]
