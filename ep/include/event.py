"""Events: marks in a stream's work."""

from abc import ABC, abstractmethod

from ep.include.process import ProcessBound


class Event(ProcessBound, ABC):
    """A mark that a stream passes once all work queued before it is done (`event.h`).

    If a device measures time, its events have `ElapsedTime(end)` too: the milliseconds from this event to `end`; raises
    ValueError if one of the two was not recorded. Like a stream, an event can be neither copied nor pickled.
    """

    @abstractmethod
    def QueryDone(self) -> bool:
        """Return whether the recorded work is done, without waiting. An event that was never recorded is done."""

    @abstractmethod
    def Sync(self) -> None:
        """Wait until the recorded work is done."""
