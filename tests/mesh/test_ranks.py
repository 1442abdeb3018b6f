"""The checks that several ranks make together, on 4 and on 3 of them."""

import os

import pytest

from tests.mesh.checks import CHECKS
from tests.mesh.jobs import results

pytest.importorskip("mpi4py")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The folder that all processes of a run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.mark.parametrize("ranks", [4, 3])
@pytest.mark.parametrize("check", CHECKS)
def test_on_ranks(check, ranks, shared):
    assert results(ranks, shared)[check] == ""
