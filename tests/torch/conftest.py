"""PyTorch's random numbers follow from the test and EP_TEST_SEED, and not from the tests that ran before."""

import sys

import pytest


@pytest.fixture(autouse=True)
def seed_of_torch(rng):
    if torch := sys.modules.get("torch"):  # without it, the tests that need it are skipped
        torch.manual_seed(int(rng.integers(2**63)))
