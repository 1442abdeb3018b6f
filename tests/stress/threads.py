"""Threads that launch while other threads resize the pool, get errors, copy, start and end; also on small stacks."""

import copy
import gc
import pickle
import threading
import time

from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import random_call
from tests.stress.draw import pick

FRESH, SECONDS, DEVICES = False, 180, ("cpu",)

STACKS = (0, 0, 0, 32 << 10, 64 << 10, 256 << 10)  # bytes, 0 for the system's; the first is the least Python allows


class Scene:
    """The state that the threads of a trial share: calls with their primitives and results, and the errors so far."""

    def __init__(self, rng, tag):
        self.tag, self.errors, self.over = tag, [], False
        self.stack = pick(rng, STACKS)
        device = DeviceUnderTest(DeviceType.FromTag(tag))
        calls = [random_call(rng, device, most=60_000) for _ in range(4)]
        made = [(call, call.make(device)) for call in calls]
        self.launches = [(call, primitive, call.expected(device, primitive)) for call, primitive in made]

    def guarded(self, work, rng):
        """Repeat `work` until the scene is over."""
        try:
            device = DeviceUnderTest(DeviceType.FromTag(self.tag))
            while not self.over:
                work(self, device, rng)
        except BaseException as error:
            error.add_note(f"in {work.__name__}, on a stack of {self.stack} bytes")
            self.errors.append(error)


def launch(scene, device, rng):
    call, primitive, expected = pick(rng, scene.launches)
    call.launch(device, primitive, rng, expected)


def resize(scene, device, rng):
    device.device.SetNumThreads(int(rng.integers(1, 9)))
    time.sleep(rng.exponential(0.001))


def be_refused(scene, device, rng):
    call, primitive, _ = pick(rng, scene.launches)
    _, placed = call.place(device, rng)
    placed[call.output] = None
    try:
        primitive.Launch(device.stream, **placed)
    except TypeError:
        return
    raise AssertionError(f"{call.output}=None was accepted: {call}")


def copy_and_launch(scene, device, rng):
    call, primitive, expected = pick(rng, scene.launches)
    ways = copy.copy, copy.deepcopy, lambda original: pickle.loads(pickle.dumps(original))
    call.launch(device, pick(rng, ways)(primitive), rng, expected)
    gc.collect()


def begin_another(scene, device, rng):
    """Start a thread that launches once and ends."""
    thread = threading.Thread(target=launch, args=(scene, device, rng))
    thread.start()
    thread.join()


MISCHIEF = (resize, be_refused, copy_and_launch, begin_another)


def trial(rng, tag):
    scene = Scene(rng, tag)
    works = [launch] * int(rng.integers(2, 7)) + [pick(rng, MISCHIEF) for _ in range(int(rng.integers(4)))]
    print(f"{', '.join(work.__name__ for work in works)}; stacks of {scene.stack} bytes", flush=True)
    rngs = rng.spawn(len(works))
    stack = threading.stack_size(scene.stack)
    try:
        threads = [threading.Thread(target=scene.guarded, args=pair) for pair in zip(works, rngs, strict=True)]
        for thread in threads:
            thread.start()
    finally:
        threading.stack_size(stack)
    time.sleep(rng.uniform(0, 0.3))
    scene.over = True
    for thread in threads:
        thread.join()
    if scene.errors:
        raise scene.errors[0]
