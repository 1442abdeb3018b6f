"""Support for events that may occur at any moment: signals, forks, and launches from threads with little stack."""

from ep.include.process.bound import ProcessBound
from ep.include.process.locks import Rank, new_lock
from ep.include.process.openmp import main_thread_may_wait
from ep.include.process.section import exclusively
from ep.include.process.stacks import start_thread

__all__ = ["ProcessBound", "Rank", "exclusively", "main_thread_may_wait", "new_lock", "start_thread"]
