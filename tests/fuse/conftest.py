"""The reference for fused functions."""

import pytest

import ep


@pytest.fixture
def one_by_one(monkeypatch):
    """A function that returns the results of the operators one by one, as on a device without fused kernels."""

    def compute(function, *arrays, round_each=False):
        with monkeypatch.context() as patch:
            patch.setattr("ep.expressions.rules._has_kernels", lambda device_type, sample: False)
            alone = ep.fuse(function, round_each=round_each)
            found = alone(*arrays)
            assert "kernel of" not in alone.explain(*arrays)
        return found if isinstance(found, tuple) else (found,)

    return compute
