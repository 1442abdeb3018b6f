"""Right calls of all keys: they write the right bytes and no others, the same every time and from every thread."""

import threading

from ep import DeviceType
from ep.cpu.machine.calibration import NEVER, everywhere
from ep.testing.device_under_test import DeviceUnderTest
from tests.stress.calls import random_call
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 180, None


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    if hasattr(device.device, "SetNumThreads"):
        device.device.SetNumThreads(int(rng.integers(1, 6)))
    if hasattr(device.device, "force_calibration"):  # with non-temporal stores, if possible
        device.device.force_calibration(everywhere(pick(rng, (NEVER, 2**12, 0))))
    call = random_call(rng, device)
    primitive = call.make(device)
    if chance(rng, 0.3):
        primitive.Prepare()
    expected = call.expected(device, primitive)
    for _ in range(2):
        call.launch(device, primitive, rng, expected)
    if chance(rng, 0.2):
        from_threads(rng, device, call, primitive, expected)
    try:
        call.agrees(device, primitive)
    except AssertionError as error:
        error.add_note(str(call))
        raise


def from_threads(rng, device, call, primitive, expected):
    """Make the same launch from several threads at once."""
    errors = []

    def work(generator):
        try:
            own = DeviceUnderTest(device.type)
            for _ in range(3):
                call.launch(own, primitive, generator, expected)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(generator,)) for generator in rng.spawn(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
