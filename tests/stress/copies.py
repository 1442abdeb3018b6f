"""Copies of primitives, by copy, deepcopy and pickle, here and in new processes: they do not need the original."""

import copy
import gc
import multiprocessing
import pickle

import numpy as np

from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.devices import prepare
from tests.stress.calls import random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 180, None

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    call = random_call(rng, device, most=20_000)
    others = [random_call(rng, device, call.entry, most=20_000) for _ in range(3)]
    original = call.make(device)
    before = chance(rng, 0.5)
    try:
        if before:
            call.run(device, rng, original)
        if tag == "cpu" and chance(rng, 0.05):
            return in_a_new_process(rng, tag, call, pickle.dumps(original))
        copied = pick(rng, (copy.copy, copy.deepcopy, lambda primitive: through_pickle(rng, primitive)))(original)
        for other in others:  # arguments of New may differ: only this primitive is launched
            other.options = call.options
        if chance(rng, 0.5):
            call.run(device, rng, original)
        if chance(rng, 0.7):
            del original
            gc.collect()
            litter = [np.full(size, -1, np.int64) for size in (4, 8, 16, 32, 64, 128) for _ in range(50)]
            del litter
        for _ in range(2):
            call.run(device, rng, copied)
        if repr(copied) != repr(call.make(device)):
            raise AssertionError(f"the copy is {copied!r}")
    except Exception as error:
        error.add_note(f"{call}, launched before the copy: {before}")
        raise


def through_pickle(rng, primitive):
    return pickle.loads(pickle.dumps(primitive, pick(rng, PROTOCOLS)))


def in_a_new_process(rng, tag, call, pickled):
    """Launch a primitive that was pickled here in a process that is spawned or comes from the fork server."""
    context = multiprocessing.get_context(pick(rng, ("spawn", "forkserver")))
    process = context.Process(target=launch_there, args=(tag, call, pickled))
    process.start()
    process.join(SECONDS / 2)
    if process.is_alive():
        process.kill()
        raise AssertionError("the new process hangs")
    if process.exitcode:
        raise AssertionError(f"the new process ended with {process.exitcode}")


def launch_there(tag, call, pickled):
    prepare(tag)
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    call.run(device, np.random.default_rng(0), pickle.loads(pickled))
