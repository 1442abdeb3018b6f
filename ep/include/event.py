"""Events: marks in a stream's work."""

from abc import ABC, abstractmethod

from ep.include.process import ProcessBound


class Event(ProcessBound, ABC):
    """A mark that a stream passes once all work queued before it is done (`event.h`).

    Where a device measures time, its events have `ElapsedTime(end)` too: the milliseconds from this event to `end`,
    ValueError where one of the two was not recorded. An event can be neither copied nor pickled, as streams.
    """

    @abstractmethod
    def QueryDone(self) -> bool:
        """Whether the recorded work is done; an event that was never recorded is done. Does not wait."""

    @abstractmethod
    def Sync(self) -> None:
        """Wait until the recorded work is done."""
