"""What the CPU's primitives have in common: from the first Launch on, one call of compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

from ep.common.bounded_cache import BoundedCache
from ep.common.compiling import compiling
from ep.common.primitive.signature import Signature
from ep.cpu.device.buffers import check_stream, read_buffer
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.move.link import link
from ep.cpu.engine.move.row_writer import RowWriter
from ep.cpu.engine.plan import Plan
from ep.cpu.shared.state import STATE, LaunchState
from ep.include.data_type import DataType, as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import Primitive, Request

_ATTEMPTS: Final = 4  # another thread may set another number of threads meanwhile, which needs another calibration


def _not_compiled(*args: Any) -> int:
    """Stands in for the compiled entry until there is one; every launch is then "not as expected"."""
    return 1


class CpuPrimitive(Primitive):
    """A primitive whose Launch calls a compiled entry, which checks its arguments and does the work.

    The entry returns 0 where all was as expected. Where it was not, nothing has been written, and `Launch` checks again
    in Python, by `_launch_checked`: that raises what is wrong, or puts right what is only unusual (a subclass of
    ndarray, an equal dtype that is another object) and calls the entry once more.
    """

    signature: ClassVar[Signature]
    state_layout: ClassVar[Any] = STATE

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._types: Any = self._data_types(request)
        self._state = LaunchState(self.state_layout, self._types)
        self._words = self._state.words
        self._entry: Callable[..., int] = _not_compiled

    def _data_types(self, request: Request) -> Any:
        """Those of the operands; None for one of Launch, and for any."""
        return self.signature.data_types(request.dtypes or ())

    @abstractmethod
    def _compile(self) -> Callable[..., int]:
        """Compile what every launch needs, write the addresses to the state, and return the entry."""

    def _compile_variants(self) -> None:
        """Compile what only some launches need, and otherwise compile themselves."""
        self._compile_streaming()

    def Prepare(self) -> None:
        def prepare() -> None:
            self._set_entry()
            self._compile_variants()

        self._compiling(prepare)

    def _set_entry(self) -> None:
        """Compile what every launch needs, where that has not been done."""
        if self._entry is _not_compiled:
            self._start_threads()
            self._entry = self._compile()

    def _start_threads(self) -> None:
        """Write to the state how launches share their work."""
        from ep.cpu.device import runtime

        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._state.set(settings=device.settings_address, share=runtime.start(device))

    def _compile_streaming(self) -> None:
        """Compile what launches need that write past the caches, where that has not been done."""
        from ep.cpu.device import runtime

        runtime.compile_streaming()

    def _provide(self) -> None:
        """Provide what the entry may lack after it was compiled: what writes past the caches, and from where on."""
        from ep.cpu.device import runtime

        self._compile_streaming()
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        runtime.start_streaming(device)

    def _compiling(self, work: Callable[[], None]) -> None:
        """Do what compiles or imports Numba: see `compiling`."""
        compiling(self.request, "cpu", work)

    def _launch_checked(self, stream: Any, sizes: Sequence[int], others: Sequence[int], buffers: Sequence[Any]) -> None:
        """Check a launch without a plan in Python, then do it; sizes, others: of the signature, checked."""
        buffers = self._checked(stream, buffers, self.signature.counts(sizes))
        if all(sizes):
            self._run(*sizes, *others, *buffers)

    def _checked(
        self, stream: Any, buffers: Sequence[Any], counts: Sequence[int], in_place: bool = True, types: Any = None
    ) -> list[Any]:
        """Check stream and buffers in Python; return the buffers as the entry takes them."""
        check_stream(stream)
        return self.signature.read(buffers, types or self._types, counts, read_buffer, in_place)

    def _run(self, *args: Any) -> None:
        """Call the entry with arguments that have been checked in Python."""
        if self._entry is _not_compiled:
            self._compiling(self._set_entry)
        if self._entry(self._words, *args):
            for _ in range(_ATTEMPTS):
                self._compiling(self._provide)
                if self._entry(self._words, *args) == 0:
                    return
            raise RuntimeError(f"{self!r}: compiled checks refuse what the checks in Python accept: {args!r}")


class PlannedPrimitive(CpuPrimitive):
    """A primitive whose launches have dims: what follows from them is kept, in plans."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._plans = BoundedCache()
        self._last: tuple[Any, Plan | None] = None, None  # dims of the launch before, found without hashing
        # the same with what names a data type, of the last two: concat has launches of different dims in turns
        self._last_typed: tuple[Any, Any, Plan | None] = None, None, None
        self._last_but_one: tuple[Any, Any, Plan | None] = None, None, None
        self._typed_plans = BoundedCache()  # by the same, which they hold, and its identity

    def _find_plan(self, dims: tuple[Any, ...]) -> Plan | None:
        """The plan of these dims, which the next launch finds without hashing; None where there is none yet."""
        plan: Plan | None = self._plans.get(dims)
        if plan is not None:
            self._last = dims, plan
        return plan

    def _plan_of(self, dims: tuple[Any, ...], data_type: Any) -> Plan | None:
        """The plan of a launch that names the data type of all its operands; None where there is none yet."""
        # by identity: NumPy's types are equal to names that are no data types
        last_dims, last_type, plan = self._last_typed
        try:
            if data_type is last_type and dims == last_dims:
                return plan
            last_dims, last_type, plan = self._last_but_one
            if data_type is last_type and dims == last_dims:
                return plan
            return self._look_up(dims, data_type)
        except (TypeError, ValueError):  # dims in a list or in an array, or no data type
            return None

    def _look_up(self, dims: tuple[Any, ...], data_type: Any) -> Plan | None:
        """The same by hashing. Apart from `_plan_of`, which would be slower with a closure in it."""
        found = self._typed_plans.get((id(data_type), dims))
        if found is None:
            plan = self._plans.get((dims, (as_data_type(data_type),) * len(self.signature.operands)))
            if plan is None:
                return None
            found = self._typed_plans.keep((id(data_type), dims), lambda: (dims, data_type, plan))
        self._last_but_one, self._last_typed = self._last_typed, found
        made: Plan = found[2]
        return made

    def _replace(self, key: Any, plan: Plan) -> None:
        """Let launches find a plan in the place of the one that `key` has."""
        self._plans.put(key, plan)
        self._typed_plans = BoundedCache()
        self._last_typed = self._last_but_one = None, None, None

    def _launch_planned(
        self,
        stream: Any,
        dims: tuple[Any, ...],
        sizes: Sequence[int],
        buffers: Sequence[Any],
        make: Callable[[], Plan],
        types: tuple[DataType, ...] = (),
    ) -> None:
        """Check a launch in Python, then do it.

        dims: all that Launch takes, each None or a tuple of ints; sizes: of the signature.
        make: makes the plan of a launch that writes something.
        types: of the operands, where Launch says any. Plans are then found by (dims, types), and else by dims.
        """
        key = (dims, types) if types else dims
        plan, made = self._plans.get(key), None
        if plan is None and 0 not in sizes and self._launch_new(stream, key, dims, buffers, make):
            return
        counts = self.signature.counts(sizes)
        if plan is None and any(counts[operand] for operand in self.signature.written):
            self._checked(stream, buffers, counts, types=types)  # first, so that what a plan is made of fits in memory
            plan = made = make()
        buffers = self._checked(stream, buffers, counts, plan is None or plan.in_place, types)
        if made is not None:  # nothing is compiled for a launch that is refused
            for move in made.moves:
                link(move)
            self._plans.keep(key, lambda: made)
        if plan is not None:
            self._run(plan.words, dims, *buffers)

    def _launch_new(
        self, stream: Any, key: Any, dims: tuple[Any, ...], buffers: Sequence[Any], make: Callable[[], Plan]
    ) -> bool:
        """Make the plan of a launch that has not been checked, and do it; whether that was possible.

        Most launches of new dims are right: then the compiled check is enough, and that in Python would take longer
        than all else. Where anything has to be compiled, or is not as expected, nothing is written and no plan kept.
        """
        if type(stream) is not CpuStream or self._entry is _not_compiled:
            return False
        try:
            plan = make()
        except OverflowError:  # strides or sizes that no word holds, and so no memory
            return False
        for move in plan.moves:
            if not move.is_linked:
                return False
        if self._entry(self._words, plan.words, dims, *buffers):
            return False
        self._plans.put(key, plan)
        return True

    def _compile_writers(self, writers: Iterable[RowWriter]) -> None:
        """Compile ways to write rows that plans may name, and the walk that calls them."""
        from ep.cpu.engine.move import row_writers, walk

        walk.task()
        for wanted in writers:
            row_writers.writer(wanted)
