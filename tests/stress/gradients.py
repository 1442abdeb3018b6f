"""Gradients of random operators, of any type, compared with central differences in float64."""

from tests.ops.gradient_cases import RULES
from tests.ops.gradient_checks import TYPES, check
from tests.stress.draw import pick

FRESH, SECONDS, DEVICES = False, 180, ("cpu",)


def trial(rng, tag):
    """Try one operator, with the first type that it supports in a random order of types."""
    name = pick(rng, sorted(RULES))
    types = [TYPES[place] for place in rng.permutation(len(TYPES))]
    if not any(check(name, data_type, rng, draws=3) for data_type in types):
        raise AssertionError(f"{name}: no draw of any type could be compared")
