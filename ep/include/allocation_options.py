"""Options of an allocation."""

from dataclasses import dataclass

from ep.include.device_type import DeviceType


@dataclass(frozen=True, slots=True)
class AllocationOptions:
    """The place of memory (`allocation_options.h`).

    pinned_device_type, pinned_device_index: for host memory, the device that reads and writes it directly.
    numa_node_affinity: preferred NUMA node of host memory, None for no preference.
    A device that does not support an option raises ValueError instead of ignoring it.
    """

    pinned_device_type: DeviceType | None = None
    pinned_device_index: int = 0
    numa_node_affinity: int | None = None

    def HasPinnedDevice(self) -> bool:
        """Return whether the memory is to be pinned for a device."""
        return self.pinned_device_type is not None

    def HasNumaNodeAffinity(self) -> bool:
        """Return whether a NUMA node is preferred."""
        return self.numa_node_affinity is not None
