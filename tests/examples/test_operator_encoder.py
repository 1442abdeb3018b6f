"""The encoder in operators: on the CPU, and on a device that lacks most of its kernels, with the CPU beside it."""

import numpy as np
import pytest

from examples.encoder import model
from examples.encoder.__main__ import main
from examples.encoder.operator_encoder import OperatorEncoder
from tests.examples import bert
from tests.examples.test_encoder import SMALL, with_weights

BESIDE = """
from examples.encoder import model
from examples.encoder.operator_encoder import OperatorEncoder
from tests.examples import bert
from tests.examples.test_encoder import SMALL
rng = np.random.default_rng(SEED)
config, weights = (model.config(), model.weights()) if IS_REAL else (SMALL, bert.random_weights(SMALL, rng))
alone, beside = OperatorEncoder(config, weights), OperatorEncoder(config, weights, TAG, "cpu")
for lengths in ([3, 9, 1, 4], [7], [3, 9, 1, 4]):
    sentences = [rng.integers(0, 50, length).tolist() for length in lengths]
    found = beside.encode(sentences)
    np.testing.assert_allclose(found, alone.encode(sentences), 0, BOUND)
    np.testing.assert_allclose(found, [bert.encode(config, weights, ids) for ids in sentences], atol=2e-6)
text = beside.explain(sentences)
assert "gather" in text, text
assert TAG != "numpy" or ("computed on the host" in text and "matmul has no kernel" in text), text
"""


@pytest.mark.parametrize("lengths", [[1], [5, 5, 5], [3, 9, 1, 4]], ids=str)
def test_small_weights(rng, device, lengths):
    weights = bert.random_weights(SMALL, rng)
    sentences = [rng.integers(0, 50, length).tolist() for length in lengths]
    want = np.array([bert.encode(SMALL, weights, ids) for ids in sentences])
    encoder = OperatorEncoder(SMALL, weights, device.type.tag)
    for _ in range(2):
        np.testing.assert_allclose(encoder.encode(sentences), want, atol=2e-6)


def test_beside_the_cpu(run_on_example, rng):
    run_on_example(f"SEED, IS_REAL = {rng.integers(2**31)}, False\n{BESIDE}")


@with_weights
def test_the_command(capsys):
    pytest.importorskip("tokenizers")
    assert main(["A man plays the guitar.", "Someone is making music."]) == 0
    said = capsys.readouterr().out
    assert main(["A man plays the guitar.", "Someone is making music.", "--otherwise", "cpu"]) == 0
    assert capsys.readouterr().out == said


@with_weights
def test_real_weights_beside_the_cpu(run_on_example, rng):
    assert model.folder()
    run_on_example(f"SEED, IS_REAL = {rng.integers(2**31)}, True\n{BESIDE}")
