"""SIGINT, once or in bursts, while the first launches of a process load or compile: interrupts are raised, and do no
harm.
"""

import contextlib
import os
import signal
import tempfile
import time
import warnings

from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import few_entries, random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = True, 360, ("cpu",)


def trial(rng, tag):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs ignore SIGINT
    cold = chance(rng, 0.4)
    with tempfile.TemporaryDirectory() if cold else contextlib.nullcontext() as folder:
        if cold:
            os.environ["EP_CACHE_DIR"] = folder
        pauses = draw_pauses(rng, longest=3.0 if cold else 0.6)
        try:
            interrupted = launch_under(rng, tag, pauses)
        finally:  # after a failure, some interrupts are still to come
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        device = DeviceUnderTest(DeviceType.FromTag(tag))
        for entry in few_entries(device.type):
            random_call(rng, device, entry, most=60_000).run(device, rng)
        if not interrupted:
            raise AssertionError(f"{len(pauses)} interrupts were sent, and none was raised")


def draw_pauses(rng, longest):
    """Return the seconds from one interrupt to the next: a single one at any moment, or a burst from then on."""
    first = float(rng.uniform(0, longest))
    storm = rng.exponential(pick(rng, (0.002, 0.02)), int(rng.integers(2, 100))) if chance(rng, 0.4) else ()
    return [first, *map(float, storm)]


def launch_under(rng, tag, pauses):
    """Launch one key after the other while another process sends interrupts; return the number of raised interrupts."""
    interrupted, over = 0, False
    sender = start_sender(pauses)
    while not over:  # an interrupt may arrive in any line, so that one `try` would not be enough
        with contextlib.suppress(KeyboardInterrupt):
            while not over:
                try:
                    device_type = DeviceType.FromTag(tag)
                    device = DeviceUnderTest(device_type)
                    entry = pick(rng, few_entries(device_type))
                    random_call(rng, device, entry, most=2000).run(device, rng)
                    over = os.waitpid(sender, os.WNOHANG)[0] != 0
                except KeyboardInterrupt:
                    interrupted += 1
    return interrupted


def start_sender(pauses):
    """Return a process that sends the interrupts to this process, and ends."""
    parent = os.getpid()
    with warnings.catch_warnings(action="ignore"):  # of forking with threads, if a library has started some
        sender = os.fork()
    if sender == 0:
        try:
            for pause in pauses:
                time.sleep(pause)
                os.kill(parent, signal.SIGINT)
            time.sleep(0.05)  # so that the last interrupt has arrived when the end of this process is noticed
        finally:
            os._exit(0)
    return sender
