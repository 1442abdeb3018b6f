"""Forks while other threads load device packages, compile and launch: the child launches and ends."""

import faulthandler
import os
import signal
import threading
import time
import traceback
import warnings
from functools import partial

import numpy as np

from ep import DeviceType
from ep.include.device_type import load_all_providers
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import few_entries, random_call
from tests.stress.draw import pick

FRESH, SECONDS, DEVICES = True, 900, ("cpu",)

CHILD_SECONDS = 300  # seconds for launches whose kernels are on disk; a child that needs more hangs


def load(rng, tag):
    load_all_providers()


def launch(rng, tag):
    device_type = DeviceType.FromTag(tag)
    device = DeviceUnderTest(device_type)
    for _ in range(5):
        random_call(rng, device, pick(rng, few_entries(device_type)), most=60_000).run(device, rng)


def compile_all(rng, tag):
    device_type = DeviceType.FromTag(tag)
    device = DeviceUnderTest(device_type)
    random_call(rng, device, pick(rng, few_entries(device_type))).make(device).Prepare()


def trial(rng, tag):
    have_kernels_on_disk(tag)
    forks_while(rng, tag, [pick(rng, (load, launch, compile_all)) for _ in range(int(rng.integers(1, 5)))])


def forks_while(rng, tag, works, begin=lambda: None):
    """Fork while a thread does each of `works`; raise the first error of any thread or child.

    begin: a function that each child calls first.
    """
    warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which this tests
    errors = []

    def guarded(work, generator):
        try:
            work(generator, tag)
        except BaseException as error:
            errors.append(error)

    rngs = rng.spawn(len(works) + 1)
    threads = [threading.Thread(target=guarded, args=pair) for pair in zip(works, rngs[1:], strict=True)]
    forking = threading.Thread(target=guarded, args=(partial(fork_often, begin=begin), rngs[0]))
    for thread in threads:
        thread.start()
    if rng.random() < 0.5:
        fork_often(rngs[0], tag, begin)
    else:  # this thread then becomes the child's main thread
        forking.start()
        forking.join()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def have_kernels_on_disk(tag):
    """Compile the kernels of the trial if they are not on disk: in a child, so that nothing is loaded here."""
    child = os.fork()
    if child == 0:
        try:
            device_type = DeviceType.FromTag(tag)
            device = DeviceUnderTest(device_type)
            for entry in few_entries(device_type):
                random_call(np.random.default_rng(0), device, entry).make(device).Prepare()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def fork_often(rng, tag, begin=lambda: None):
    for number in range(8):
        time.sleep(rng.exponential(0.03))
        child = os.fork()
        if child == 0:
            in_the_child(rng, tag, begin)
        status = os.waitpid(child, 0)[1]
        if status:
            ended = signal.Signals(status).name if status < 128 else f"exit status {status >> 8}"
            hangs = f": it hung for {CHILD_SECONDS} s" if status == signal.SIGALRM else ""
            raise AssertionError(f"child {number} ended with {ended}{hangs}")


def in_the_child(rng, tag, begin):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # this prints where it hangs; the worker's dump_traceback_later uses a thread, which a child lacks and would wait
    # for
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(CHILD_SECONDS)
    status = 1
    try:
        begin()
        launch(np.random.default_rng(rng.integers(2**32)), tag)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
