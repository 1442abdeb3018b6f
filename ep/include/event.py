"""Events: marks in a stream's work."""

from abc import ABC, abstractmethod


class Event(ABC):
    """A mark that a stream passes once all work queued before it is done (`event.h`)."""

    @abstractmethod
    def QueryDone(self) -> bool:
        """Whether the recorded work is done; an event that was never recorded is done. Does not wait."""

    @abstractmethod
    def Sync(self) -> None:
        """Wait until the recorded work is done."""
