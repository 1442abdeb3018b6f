"""The fixtures of the suite, only for its own modules: another package may have its own `device` fixture."""

from ep.testing.fixtures import device, pytest_generate_tests, refuses, rng

__all__ = ["device", "pytest_generate_tests", "refuses", "rng"]
