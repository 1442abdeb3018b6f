"""A cache of plans keeps the plans that were used last, by any thread."""

import threading

import pytest

from ep.common import bounded_cache
from ep.common.bounded_cache import KEPT, BoundedCache


def filled(count):
    cache = BoundedCache()
    for key in range(count):
        cache.keep(key, lambda key=key: f"value {key}")
    return cache


def test_what_was_used_last_is_kept():
    cache = filled(10 * KEPT)
    assert [cache.get(key) for key in range(9 * KEPT, 10 * KEPT)] == [
        f"value {key}" for key in range(9 * KEPT, 10 * KEPT)
    ]
    assert all(cache.get(key) is None for key in range(7 * KEPT))


def test_what_is_used_stays_however_much_comes():
    cache = filled(1)
    for key in range(1, 20 * KEPT):
        cache.put(key, key)
        if key % (KEPT // 2) == 0:
            assert cache.get(0) == "value 0", key
    assert cache.find(0) is None  # `find` finds only tuples of integers


@pytest.mark.parametrize("used", ["get", "find", "keep"])
def test_each_way_to_look_is_a_use(used):
    cache, kept = BoundedCache(), (3, 5)
    cache.put((kept,), "kept")
    look = {"get": (kept,), "find": kept, "keep": (kept,)}[used]
    for key in range(3 * KEPT):
        cache.put(key, key)
        assert getattr(cache, used)(look, *[int] * (used == "keep")) == "kept"


def test_a_value_takes_the_place_of_an_older_one():
    cache = filled(1)
    for key in range(1, KEPT + 1):
        cache.put(key, key)
    cache.put(0, "new")
    assert (cache.get(0), cache.keep(0, lambda: "newer")) == ("new", "new")


def test_no_more_than_twice_as_many_are_kept():
    cache = filled(5 * KEPT)
    assert sum(cache.get(key) is not None for key in reversed(range(5 * KEPT))) <= 2 * KEPT + 1


def sizes(cache):
    """Return the sizes that values in a cache of dicts have, each once."""
    return {key: size for value in (*cache.values(), *cache.older.values()) for key, size in value.items()}


def test_values_keep_no_more_than_so_many_bytes(monkeypatch):
    """Beside what the largest one keeps: all plans of a model have its weights."""
    monkeypatch.setattr(bounded_cache, "MOST_BYTES", 1000)
    cache, weights = BoundedCache(lambda value: value), {"weights": 10**6}
    for key in range(100):
        cache.put(key, weights | {key: 300})
        assert cache.get(max(key - 1, 0)) is not None
        assert sum(sizes(cache).values()) <= 10**6 + 2 * (1000 + 300)
    assert sum(cache.get(key) is not None for key in reversed(range(100))) > 3


def test_values_that_are_too_large_are_found(monkeypatch):
    monkeypatch.setattr(bounded_cache, "MOST_BYTES", 1000)
    cache = BoundedCache(lambda value: value)
    for key in "abcabc":
        cache.put(key, {key: 10**6})
        assert cache.get(key) == {key: 10**6}
    assert len(sizes(cache)) <= 3


def test_threads_find_what_is_theirs_or_nothing():
    """The cache has no lock: a value may be lost, but a key never gets the value of another one."""
    cache, wrong = BoundedCache(), []

    def work(first):
        for step in range(8000):
            key = first + step * 7 % 400
            found = cache.keep(key, lambda key=key: (key,))
            if found != (key,) or cache.get(key) not in ((key,), None):
                wrong.append((key, found))

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 0, 150, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
