"""The network that reads digits: it is as accurate as scikit-learn's MLPClassifier, and its step equals Adam's in
NumPy.
"""

import re

import numpy as np

from examples import digits

LEAST = 0.9866
"""The lowest accuracy of MLPClassifiers with the random_states 0 to 4, trained on `learn`."""


def test_the_command(capsys):
    digits.main()
    said = capsys.readouterr().out
    first, last = map(float, re.search(r"the loss fell from (\S+) to (\S+) in 720 steps", said).groups())
    assert first > 2
    assert last < 0.05
    assert float(re.search(r"^(\S+) of 450 digits", said, re.MULTILINE)[1]) >= LEAST


def test_a_step(rng):
    (images, labels), _ = digits.digits()
    images, labels = images[:50], labels[:50, None]
    sizes = {"w1": (64, 7), "b1": (7,), "w2": (7, 10), "b2": (10,)}
    model, means = ({name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()} for _ in range(2))
    squares = {name: rng.random(size, np.float32) for name, size in sizes.items()}
    _, *found = digits.step(model, means, squares, images, labels, 0.01)

    wide = {name: one.astype(np.float64) for name, one in model.items()}
    inner = images @ wide["w1"] + wide["b1"]
    hidden = np.maximum(inner, 0)
    shares = np.exp(hidden @ wide["w2"] + wide["b2"])
    shares /= shares.sum(axis=1, keepdims=True)
    of_scores = (shares - np.eye(10)[labels[:, 0]]) / 50
    of_inner = of_scores @ wide["w2"].T * (inner > 0)
    slopes = {"w1": images.T @ of_inner, "b1": of_inner.sum(axis=0)}
    slopes |= {"w2": hidden.T @ of_scores, "b2": of_scores.sum(axis=0)}
    for name, slope in slopes.items():
        mean, square = 0.9 * means[name] + 0.1 * slope, 0.999 * squares[name] + 0.001 * slope**2
        moved = model[name] - 0.01 * mean / (np.sqrt(square) + 1e-8)
        for one, expected in zip(found, (moved, mean, square), strict=True):
            np.testing.assert_allclose(one[name], expected, rtol=1e-4, atol=1e-6)
