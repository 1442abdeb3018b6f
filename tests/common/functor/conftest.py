"""The order of the tests of functors."""

from pathlib import Path

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Put the tests of one op together: workers of pytest-xdist take runs of tests, and each compiles its ops."""
    places = [place for place, item in enumerate(items) if item.path.parent == FOLDER]
    for place, item in zip(places, sorted((items[place] for place in places), key=_op), strict=True):
        items[place] = item


def _op(item):
    return str(getattr(item, "callspec", None) and item.callspec.params.get("op"))
