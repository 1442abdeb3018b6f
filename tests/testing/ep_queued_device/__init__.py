"""The laziest device that the contracts allow: work is done when somebody waits for it, and no sooner.

It has memory of its own, of which there is little, streams that are queues, and one primitive. Each of its rules can be
broken: see `tests/testing/test_defects.py`.
"""

from ep_queued_device import primitives
from ep_queued_device.device import QueuedDeviceManager, kQueued

from ep import DeviceManagerRegistry

DeviceManagerRegistry.RegisterDeviceManagerFactory(kQueued, QueuedDeviceManager)

__all__ = ["kQueued", "primitives"]
