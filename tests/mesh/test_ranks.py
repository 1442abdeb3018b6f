"""The checks that several ranks make together, on 4 and on 3 of them."""

import os

import pytest

from tests.mesh.checks import CHECKS
from tests.mesh.jobs import results

pytest.importorskip("mpi4py")

RANKS = (4, 3)


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The folder that all processes of a run have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def checks(request):
    """By the number of ranks, the names of the checks that this run has, in their order."""
    cases = [item.callspec.params for item in request.session.items if item.name.startswith("test_on_ranks[")]
    chosen = {(case["ranks"], case["check"]) for case in cases}
    return {ranks: [check for check in CHECKS if (ranks, check) in chosen] for ranks in RANKS}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", CHECKS)
def test_on_ranks(check, ranks, checks, shared):
    assert results(ranks, checks[ranks], shared)[check] == ""
