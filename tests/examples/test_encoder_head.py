"""The classifier on the encoder's vectors: its gradients, and the decrease of its loss."""

import itertools

import numpy as np
import pytest

from ep.include.primitive import LogSoftmaxFactory, MatmulFactory
from ep.testing.keys import needs_one_of
from examples.encoder import __main__ as command
from examples.encoder import model
from examples.encoder.encoder import Encoder
from examples.encoder.head import Head
from tests.examples import bert
from tests.examples.test_encoder import SMALL, with_weights

pytestmark = [needs_one_of(MatmulFactory), needs_one_of(LogSoftmaxFactory)]


@pytest.fixture
def labelled(device, rng):
    """Return vectors of sentences, and for each the one of three vocabularies of two words that it uses."""
    encoder = Encoder(SMALL, bert.random_weights(SMALL, rng), device.type)
    labels = rng.integers(0, 3, 30)
    return encoder.encode([(16 * label + rng.integers(0, 2, 9)).tolist() for label in labels]), labels.tolist()


def test_the_loss_falls(labelled):
    vectors, labels = labelled
    head = Head(SMALL.hidden_size, 3)
    losses = head.train(vectors, labels, rate=0.3)
    assert losses[0] == pytest.approx(np.log(3), rel=1e-6)
    assert losses[-1] < losses[0] / 3
    assert all(after < before for before, after in itertools.pairwise(losses))
    assert head.classes(vectors) == labels


def test_one_step_goes_down_the_slope(labelled):
    """If all scores are equal, the gradient is the mean of `vector * (1/3, minus 1 for its class)`."""
    vectors, labels = labelled
    head = Head(SMALL.hidden_size, 3)
    head.train(vectors, labels, steps=1, rate=0.5)
    vectors = (vectors - vectors.mean(axis=0)) / (vectors - vectors.mean(axis=0)).std()
    away = 1 / 3 - np.eye(3)[labels]
    np.testing.assert_allclose(head.weights, -0.5 * vectors.T @ away / len(labels), atol=1e-5)
    np.testing.assert_allclose(head.bias, -0.5 * away.mean(axis=0), atol=1e-6)


TRAINING = """\
weather\tIt will rain all day tomorrow.
weather\tThe sun came out after the storm.
music\tShe plays the violin in an orchestra.
music\tThe band recorded a new song.

music\tHe sings in a choir on Sundays.
weather\tSnow is expected in the mountains.
"""


@with_weights
def test_the_command(capsys, tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "labelled.tsv").write_text(TRAINING)
    given = ["--train", str(tmp_path / "labelled.tsv"), "A guitar solo ended the concert.", "Fog covers the valley."]
    assert command.main(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("6 sentences of 2 classes: the loss fell from 0.693 to 0.")
    assert [line.split()[0] for line in lines[1:]] == ["music", "weather"]


@pytest.mark.parametrize(
    ("text", "words"), [("one line\n", "labelled.tsv, line 1 has no tab"), ("a\tx\n", "there is one class alone")]
)
def test_what_cannot_be_learnt(capsys, tmp_path, text, words, monkeypatch):
    monkeypatch.setattr(model, "Model", lambda device_type, otherwise: None)
    (tmp_path / "labelled.tsv").write_text(text)
    assert command.main(["--train", str(tmp_path / "labelled.tsv"), "a sentence"]) == 1
    assert words in capsys.readouterr().err
