"""Delayed signals: handlers in Python may raise anywhere, and neither imports nor compilers survive that."""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], Any]

_SIGNALS: Final = tuple(map(int, signal.valid_signals()))  # Python makes a set of enumerators in each call


class HeldSignals:
    """A handler that records signals from `hold` to `release`, and then calls the handlers in Python.

    Each handler is called once for each delivery of its signal, with the frame that calls `release`. `release` raises
    the first exception of a handler, after all have been called. Handlers run only in the main thread of the main
    interpreter; elsewhere nothing is held.

    Between the two calls, this object is the handler of those signals. An attribute determines whether it records a
    signal or passes it on. So an exception that arrives while handlers are being exchanged does no harm: a handler that
    is not restored yet passes signals on.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Handler] = {}
        self._arrived: deque[int] = deque()
        self._is_holding = False

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        """Handle a signal. Python calls it."""
        if self._is_holding:
            self._arrived.append(number)
            return None
        return self._handlers[number](number, frame)

    def hold(self) -> None:
        """Replace all handlers. A signal that arrives before that is not held, and may raise here."""
        if not _is_main_thread():
            return
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if isinstance(handler, HeldSignals) and not handler._is_holding:  # not restored: see the docstring
                handler = handler._handlers[number]
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self)
        self._is_holding = True

    def forget(self) -> None:
        """Forget the recorded signals."""
        self._arrived.clear()

    def release(self) -> None:
        """Restore the handlers, and call those whose signals arrived. Handlers that were set meanwhile stay."""
        error: BaseException | None = None
        try:
            error = self._deliver(error)
            # SIGINT, the most likely signal, is restored last: its handler may raise once it is restored
            for number in sorted(self._handlers, key=lambda number: number == signal.SIGINT):
                if signal.getsignal(number) is self:
                    signal.signal(number, self._handlers[number])
        finally:
            self._is_holding = False
            error = self._deliver(error)
        if error is not None:
            raise error

    def _deliver(self, error: BaseException | None) -> BaseException | None:
        """Call the handlers of recorded signals. Return `error`, or else the first exception."""
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
