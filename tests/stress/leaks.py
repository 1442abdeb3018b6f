"""Memory: thousands of launches of a few keys, with any dims, refused ones and new primitives among them."""

import gc
from pathlib import Path

from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import few_entries, random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = True, 360, ("cpu",)

LAUNCHES = 1500  # in each of the rounds; the caches of primitives are full after the first one
ROUNDS = 3
LIMIT = 200  # KiB for 1000 launches


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    entry = pick(rng, few_entries(device.type))
    calls = [random_call(rng, device, entry, most=500) for _ in range(400)]
    for call in calls:  # one primitive supports them all
        call.options = (8, *call.options[1:]) if call.options else ()
    primitive = calls[0].make(device)
    primitive.Prepare()
    sizes = []
    for _ in range(ROUNDS):
        for _ in range(LAUNCHES):
            call = pick(rng, calls)
            _, placed = call.place(device, rng)
            primitive.Launch(device.stream, **placed)
            if chance(rng, 0.05):
                refused(primitive, device, placed, call.output)
            if chance(rng, 0.01):
                primitive = call.make(device)
        gc.collect()
        sizes.append(resident())
    growth = (sizes[-1] - sizes[0]) / (LAUNCHES * (ROUNDS - 1)) * 1000 / 1024
    if growth > LIMIT:
        raise AssertionError(f"{entry}: memory grows by {growth:.0f} KiB in 1000 launches: {sizes} bytes")
    return growth


def refused(primitive, device, placed, output):
    try:
        primitive.Launch(device.stream, **{**placed, output: "no buffer"})
    except TypeError:
        return
    raise AssertionError(f"{output}='no buffer' was accepted")


def resident() -> int:
    """Return the resident memory of the process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
