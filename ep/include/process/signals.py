"""Signals that wait: handlers in Python may raise anywhere, which neither an import nor a compiler survives."""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class HeldSignals:
    """From `hold` to `release`, signals with a handler in Python are noted; `release` calls the handlers.

    Each is called once for each time that its signal was delivered, with the frame that calls `release`. What the first
    one to raise raises comes out of `release`, after all have been called. Handlers run in the main thread of the main
    interpreter alone; elsewhere nothing is held.

    Between the two, this object is the handler of those signals. It either notes a signal or passes it on, as one
    attribute says. So an exception that arrives while handlers are being exchanged does no harm: a handler that has
    been exchanged and not yet put back passes signals on.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Handler] = {}
        self._arrived: deque[int] = deque()
        self._is_holding = False

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        """Handle a signal; Python calls it."""
        if self._is_holding:
            self._arrived.append(number)
            return None
        return self._handlers[number](number, frame)

    def hold(self) -> None:
        """Take the place of all handlers. A signal until then may raise here, and is not held."""
        if not _is_main_thread():
            return
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if isinstance(handler, HeldSignals) and not handler._is_holding:  # left over, as the docstring has it
                handler = handler._handlers[number]
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self)
        self._is_holding = True

    def forget(self) -> None:
        """Drop what was noted."""
        self._arrived.clear()

    def release(self) -> None:
        """Put the handlers back, and call those whose signals arrived. What was set meanwhile stays."""
        error: BaseException | None = None
        try:
            error = self._deliver(error)
            # an interrupt is what most likely arrives now: once its handler is back, nothing is left to be put back
            for number in sorted(self._handlers, key=lambda number: number == signal.SIGINT):
                if signal.getsignal(number) is self:
                    signal.signal(number, self._handlers[number])
        finally:
            self._is_holding = False
            error = self._deliver(error)
        if error is not None:
            raise error

    def _deliver(self, error: BaseException | None) -> BaseException | None:
        """Call the handlers of what was noted; return `error`, or else the first exception."""
        while self._arrived:
            number = self._arrived.popleft()
            try:
                self._handlers[number](number, sys._getframe(1))
            except BaseException as raised:
                error = error or raised
        return error


def _is_main_thread() -> bool:
    if threading.get_ident() != threading.main_thread().ident:
        return False
    import ctypes  # not at the top: `import ep` stays quick

    api = ctypes.pythonapi
    for function in (api.PyInterpreterState_Get, api.PyInterpreterState_Main):
        function.restype, function.argtypes = ctypes.c_void_p, ()
    return bool(api.PyInterpreterState_Get() == api.PyInterpreterState_Main())
