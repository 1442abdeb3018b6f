"""The order of the tests of functors."""

from pathlib import Path

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Let those of one op follow each other: workers of pytest-xdist take them in runs, and each compiles the op."""
    places = [place for place, item in enumerate(items) if item.path.parent == FOLDER]
    for place, item in zip(places, sorted((items[place] for place in places), key=_op), strict=True):
        items[place] = item


def _op(item):
    return str(getattr(item, "callspec", None) and item.callspec.params.get("op"))
