"""The benchmark's wait for threads that still run."""

import hashlib
import sys
import threading

import pytest

from benchmarks import quiet
from benchmarks.quiet import wait_for_threads


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere threads cannot be looked at")
def test_a_thread_that_works_is_waited_for(monkeypatch):
    monkeypatch.setattr(quiet, "_LONGEST", 600.0)  # a busy machine may not schedule it for long
    done = threading.Event()
    begun = threading.Event()

    def work():
        begun.set()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 30_000)  # about ten milliseconds, without the GIL
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    wait_for_threads()
    assert done.is_set()
    worker.join()


def test_it_does_not_wait_for_ever():
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            pass

    worker = threading.Thread(target=spin)
    worker.start()
    try:
        wait_for_threads()
        assert worker.is_alive()
    finally:
        stop.set()
        worker.join()
