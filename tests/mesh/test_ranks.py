"""The checks that several ranks make together, on 4 and on 3 ranks."""

import pytest

from tests.mesh.checks import CHECKS
from tests.mesh.jobs import results

pytest.importorskip("mpi4py")

RANKS = (4, 3)


@pytest.fixture(scope="session")
def checks(request):
    """The names of this run's checks, in their order, by the number of ranks."""
    cases = [item.callspec.params for item in request.session.items if item.name.startswith("test_on_ranks[")]
    chosen = {(case["ranks"], case["check"]) for case in cases}
    return {ranks: [check for check in CHECKS if (ranks, check) in chosen] for ranks in RANKS}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", CHECKS)
def test_on_ranks(check, ranks, checks, shared):
    assert results(ranks, checks[ranks], shared)[check] == ""
