"""The base classes of the CPU's primitives: from the first launch on, Launch is compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.checks import as_size
from ep.common.compiling import compiling
from ep.common.native.object_layout import data_address
from ep.common.numbers import Numbers
from ep.common.primitive.signature import Signature
from ep.common.scalar import convert_value, is_scalar
from ep.cpu.device.buffers import check_stream, read_buffer
from ep.cpu.device.stream import CpuStream, RecordingStream
from ep.cpu.engine.form import Launcher, check_form, launch_form
from ep.cpu.engine.launchable import Launchable, are_of_ints, launched
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.move.link import link
from ep.cpu.engine.move.run_writer import RunWriter
from ep.cpu.shared.context import Context, Source
from ep.cpu.shared.listed import CHECKED, Listed, Noted
from ep.cpu.shared.state import LaunchState, State
from ep.include.data_type import DataType, as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import Primitive, Request
from ep.include.primitive.registry import RequirePrimitive

NO_DIMS: Final = ()  # the only empty tuple in Python
_ATTEMPTS: Final = 4  # another thread may change the number of threads, which needs another calibration


class CpuPrimitive(Launchable, Primitive):
    """A primitive whose launches are checked and done by compiled code.

    If compiled code finds anything unexpected, it writes nothing, and the Python version of Launch does the launch: it
    finds or makes a plan, or arrays for numbers, and calls `_enter`. Arguments that `_enter` refuses are checked in
    Python. That raises an error, or converts arguments that are only unusual (a subclass of ndarray, an equal dtype
    that is another object) and calls `_enter` once more.
    """

    signature: ClassVar[Signature]
    state_record: ClassVar[Any] = State
    number_operands: ClassVar[tuple[str, ...]] = ()
    """Operands that may be numbers in Launch, in its order. Compiled code receives arrays of one element."""
    convert_number: ClassVar[staticmethod[[Any, DataType, str], Any]] = staticmethod(convert_value)
    _written: ClassVar[Callable[..., Any] | None] = None
    """The Python version of Launch, once compiled code has replaced it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._written is None and cls._has_launch_of_contract():
            cls._written, cls.Launch = staticmethod(cls.Launch), launched(cls.Launch)  # type: ignore[method-assign]

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._types: Any = self._data_types(request)
        self._state = LaunchState(self.state_record, self._types)
        self._state.set_types(CpuStream)
        self._state.set(written=id(self._written))
        self._forget()
        self._words, self._compiled = self._state.words, False
        self._of_numbers = [(name, Numbers(self._type_of(name), self.convert_number)) for name in self.number_operands]

    def _type_of(self, operand: str) -> DataType:
        """Return the data type of an operand, by its name."""
        data_type: DataType = self._types[[each.name for each in self.signature.operands].index(operand)]
        return data_type

    def _arrays(self, *given: Any) -> tuple[Any, ...]:
        """Return arrays of the numbers that Launch was given, in its order."""
        arrays = []
        for value, (name, numbers) in zip(given, self._of_numbers, strict=True):
            arrays.append(numbers.array(value, name))
        return tuple(arrays)

    def _array_of(self, place: int, given: Any) -> Any:
        """Return the array for an operand that may be a number, by its index among these; None if it is an array."""
        name, numbers = self._of_numbers[place]
        return numbers.array(given, name) if is_scalar(given) else None

    def _data_types(self, request: Request) -> Any:
        """Return the data types of the operands; None if the type is an argument of Launch, or may be any."""
        return self.signature.data_types(request.dtypes or ())

    @abstractmethod
    def _compile(self) -> Launcher:
        """Compile the code that every launch needs, write addresses to the state, and return the launcher to call."""

    def _compile_variants(self) -> None:
        """Compile code that only some launches need, and that they would otherwise compile themselves."""
        self._compile_streaming()

    def Prepare(self) -> None:
        def prepare() -> None:
            self._set_launch()
            self._compile_variants()

        self._compiling(prepare)

    def _set_entry(self) -> None:
        """Compile the code that every launch needs, unless that has been done."""
        if not self._compiled:
            self._start_threads()
            self._set_launcher(self._compile())
            self._compiled = True

    def _set_launch(self) -> None:
        """Do the same, and let compiled code replace Launch."""
        from ep.cpu.engine.entry import install_launching

        self._set_entry()
        install_launching(type(self))

    def _before_launch(self, stream: Any) -> None:
        if self._compiled and type(stream) is CpuStream:  # it was compiled for a recording
            self._compiling(self._set_launch)

    def _set_launcher(self, launcher: Launcher) -> None:
        """Store the form of the launches, and the launcher to call, for compiled code."""
        from ep.cpu.engine.entry import install_entering

        expected = self.signature, self.state_record, launcher.plan, launcher.many
        form = launch_form(*expected, self._written, self.number_operands) if self._written else check_form(*expected)
        install_entering()
        self._state.set(launcher=launcher.address)
        self._state.set(form=data_address(form))  # last: compiled code checks this field

    def _start_threads(self) -> None:
        """Write to the state how launches share their work."""
        from ep.cpu.device import runtime

        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._state.set(settings=device.settings_address, share=runtime.start(device))

    def _compile_streaming(self) -> None:
        """Compile the tasks of launches with non-temporal stores, unless that has been done."""
        from ep.cpu.device import runtime

        runtime.compile_streaming()

    def _provide(self) -> None:
        """Provide the parts that compiled code may lack: non-temporal stores, and the size at which they begin."""
        from ep.cpu.device import runtime

        self._compile_streaming()
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        runtime.start_streaming(device)

    def _compiling(self, work: Callable[[], None]) -> None:
        """Do work that compiles, or imports what compiles: see `compiling`."""
        compiling(self.request, "cpu", work)

    def _entered(self, stream: Any, plan: Any, *args: Any) -> bool:
        """Return whether compiled code did a launch that Python has not checked; other arguments: as for `_enter`."""
        return type(stream) is CpuStream and not self._enter(plan, *args)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        """Do a launch without a plan, which compiled code has refused or not received."""
        if self.number_operands:
            arrays = self._arrays(*numbers)
            self._remember(numbers, None, arrays)
            buffers = *buffers, *arrays
        if not self._entered(stream, None, *sizes, *buffers):
            self._launch_numbers(stream, self._checked_numbers(*sizes), buffers)

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        """Return the checked sizes and other integers of a launch: here all are sizes."""
        names = *self.signature.sizes, *self.signature.others
        return tuple([as_size(number, name) for number, name in zip(numbers, names, strict=True)])

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        """Check a launch without a plan in Python, then do it. numbers: sizes and other integers, checked."""
        sizes = numbers[: len(self.signature.sizes)]
        buffers = self._checked(stream, buffers, self.signature.counts(sizes))
        if all(sizes):
            self._run(stream, None, *numbers, *buffers)

    def _checked(
        self, stream: Any, buffers: Sequence[Any], counts: Sequence[int], in_place: bool = True, types: Any = None
    ) -> list[Any]:
        """Check stream and buffers in Python. Return the buffers in the form that compiled code receives."""
        check_stream(stream)
        return self.signature.read(buffers, types or self._types, counts, read_buffer, in_place)

    def _run(self, stream: Any, plan: Any, *args: Any) -> None:
        """Call `_enter` with arguments that have been checked in Python. plan: None if there is none."""
        is_recorded = type(stream) is RecordingStream
        if not self._compiled:
            self._compiling(self._set_entry if is_recorded else self._set_launch)
        if is_recorded:
            stream.note(self, plan, args)
            if not stream.computes:
                return
        words = None if plan is None else plan.words
        if self._enter(words, *args):
            for _ in range(_ATTEMPTS):
                self._compiling(self._provide)
                if not self._enter(words, *args):
                    break
            else:
                raise RuntimeError(f"{self!r}: compiled checks refuse what the checks in Python accept: {args!r}")

    def _fill(self, stream: Any, buffer: Any, value: float, count: int) -> None:
        """Write a number to the first elements of a buffer, by a launch: so a recording has it."""
        RequirePrimitive(FillFactory, DeviceType.kCPU, as_data_type(buffer.dtype)).Launch(stream, buffer, value, count)

    def listed(self, plan: Any, args: tuple[Any, ...]) -> Listed | None:
        """Return a launch in the form for a list of launches; None if lists cannot have it.

        plan, args: as `_run` got them.
        """
        words = np.zeros(Noted.num_words, np.int64)
        if self._note(words, None if plan is None else plan.words, *args):
            return None
        frame = words[Noted.frame :]
        end = Context.sources + Source.num_words * int(frame[Context.num_sources])
        words[Noted.numbers + len(args) - len(self.signature.operands) : Noted.frame] = frame[end:] = 0  # not written
        sources = range(Context.sources, end, Source.num_words)
        return Listed(CHECKED, words[: Noted.frame].tolist(), frame, (Context.dst, *sources), Context.addresses)


class PlannedPrimitive(CpuPrimitive):
    """A primitive whose launches have dims. Data that follows from them is cached, in plans."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._plans = BoundedCache()

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *data_types: Any) -> None:
        self._launch_by_dims(stream, sizes, buffers, data_types)

    def _launch_by_dims(
        self,
        stream: Any,
        dims: tuple[Any, ...],
        buffers: tuple[Any, ...],
        data_types: tuple[Any, ...] = (),
        given: tuple[Any, ...] | None = None,
        arrays: tuple[Any, ...] = (),
    ) -> None:
        """Do a launch that compiled code has refused or not received. dims: as given, like all arguments.

        data_types: the one given to Launch, if it has one.
        given, arrays: the key and the arrays to remember; by default, the key is data types and dims.
        """
        # one function, since launches of new dims come here, too
        given = data_types + dims if given is None else given
        plan: LoopNest | None = None
        recent = self._recent
        if recent:  # compiled code may just have found the plan, and refused something else
            first = recent[0]  # read once, since compiled code of other threads may replace it
            for one, other in zip(given, first, strict=False):
                if one is not other:
                    break
            else:
                plan = first[len(given) + 1]
        key: Any = None
        if plan is None:
            try:
                key = (dims, (as_data_type(*data_types),) * len(self.signature.operands)) if data_types else dims
                plan = self._plans.get(key)
            except (TypeError, ValueError):  # dims in a list or an array, or no data type
                key = None
            if plan is not None and are_of_ints(dims):  # (2.0, 3) finds the plan of (2, 3), but is refused
                self._remember(given, plan, arrays)
            else:
                plan = None
        if plan is not None and self._entered(stream, plan.words, *buffers):
            return
        self._launch_dims(stream, dims, buffers, *data_types)
        if plan is None and key is not None:
            plan = self._plans.get(key)
            if plan is not None and are_of_ints(dims):
                self._remember(given, plan, arrays)

    @abstractmethod
    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        """Check a launch in Python, then do it, mostly by `_launch_planned`."""

    def _launch_planned(
        self,
        stream: Any,
        dims: tuple[Any, ...],
        sizes: Sequence[int],
        buffers: Sequence[Any],
        make: Callable[[], LoopNest],
        types: tuple[DataType, ...] = (),
    ) -> None:
        """Check a launch in Python, then do it.

        dims: all dims of Launch, each None or a tuple of ints; sizes: of the signature.
        make: makes the plan of a launch that writes something.
        types: of the operands, if Launch allows any. Plans are then found by (dims, types), otherwise by dims.
        """
        key = (dims, types) if types else dims
        plan, made = self._plans.get(key), None
        if plan is None and 0 not in sizes and self._launch_new(stream, key, buffers, make):
            return
        counts = self.signature.counts(sizes)
        if plan is None and any(counts[operand] for operand in self.signature.written):
            self._checked(stream, buffers, counts, types=types)  # first, so that the words of the plan do not overflow
            plan = made = make()
        buffers = self._checked(stream, buffers, counts, plan is None or plan.in_place, types)
        if made is not None:  # nothing is compiled for a launch that is refused
            self._make_ready(made)
            self._plans.keep(key, lambda: made)
        if plan is not None:
            self._run(stream, plan, *buffers)

    def _launch_new(self, stream: Any, key: Any, buffers: Sequence[Any], make: Callable[[], LoopNest]) -> bool:
        """Make the plan of a launch that has not been checked, and do it. Return whether that was possible.

        Most launches of new dims are valid: then the compiled check is enough, and a check in Python would take longer
        than everything else. If anything has to be compiled, or is unexpected, nothing is written and no plan is kept.
        """
        if not self._compiled:
            return False
        try:
            plan = make()
        except OverflowError:  # strides or sizes that fit in no word, and so in no memory
            return False
        if self._in_parts:
            if not self._has_parts(plan):
                return False
        else:
            for move in plan.moves:
                if not move.is_linked:
                    return False
        if type(stream) is not CpuStream or self._enter(plan.words, *buffers):  # `_entered` would be a call more
            return False
        self._plans.put(key, plan)
        return True

    _in_parts: ClassVar[bool] = False
    """Whether plans need different parts of the compiled code, and no moves."""

    def _has_parts(self, plan: LoopNest) -> bool:
        """Return whether the parts are there that a plan needs."""
        raise NotImplementedError

    def _make_ready(self, plan: LoopNest) -> None:
        """Compile or load the code that only some plans need, for this one."""
        for move in plan.moves:
            link(move)

    def _compile_writers(self, writers: Iterable[RunWriter]) -> None:
        """Compile the row writers that plans may name, and the walk that calls them."""
        from ep.cpu.engine.move import run_writers, walk

        walk.task()
        for wanted in writers:
            run_writers.writer(wanted)
