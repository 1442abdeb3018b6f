"""Run compiled code of several threads in Python, step by step, in all orders with few preemptions.

The source of a module is used unchanged, except that each access to memory, to a lock or to the scheduler becomes a
`yield`, also an access to a field of a record by a `Pointer`: a function becomes a generator that stops there, and
threads are generators. Memory is sequentially consistent, as with atomic words: all threads see one order.
"""

import ast
import inspect
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from typing import Any

STEPS = {
    *("atomic_load", "atomic_store", "atomic_add", "atomic_replace", "read", "write"),
    *("acquire_lock", "release_lock", "pause", "yield_processor", "call_task"),
}
MOST_STEPS = 5_000

Thread = Generator[tuple[Any, ...], Any, Any]


class Wrong(AssertionError):
    """The error of an order of steps in which something goes wrong."""


def functions(module: Any, edit: Callable[[str], str] = str, **names: Any) -> dict[str, Any]:
    """Return the functions of a module as generators. edit: changes the source; names: replace names of the module."""
    tree = ast.parse(edit(inspect.getsource(module)))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    stepping: set[str] = set()
    while more := {node.name for node in found if node.name not in stepping and _calls(node) & (STEPS | stepping)}:
        stepping |= more
    for node in found:
        node.decorator_list = []
    body = [_Yields(stepping).visit(node) for node in found]
    space = {**vars(module), "is_number": is_number, "Pointer": Pointer, **names}
    tree = ast.fix_missing_locations(ast.Module(body, []))
    exec(compile(tree, module.__file__, "exec"), space)
    return space


def _calls(node: ast.AST) -> set[str]:
    found = {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    return found | {"read"} if any(isinstance(one, ast.Attribute) for one in ast.walk(node)) else found


class Pointer(int):
    """A pointer to records of a class: their address."""

    record: Any

    def __new__(cls, record: Any, address: int) -> "Pointer":
        pointer = super().__new__(cls, address)
        pointer.record = record
        return pointer

    def __getitem__(self, index: int) -> "Pointer":
        return Pointer(self.record, self + 8 * self.record.num_words * index)

    def __getattr__(self, name: str) -> "Pointer":
        """Return the pointer to a field."""
        field = getattr(self.record, name)
        return Pointer(field.element, self + 8 * field)


def is_number(pointer: Pointer, name: str) -> bool:
    """Return whether a field is a word in memory, which is read in a step."""
    return bool(getattr(pointer.record, name).is_value)


class _Yields(ast.NodeTransformer):
    def __init__(self, stepping: set[str]) -> None:
        self._stepping = stepping

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "at":
            return ast.Call(ast.Name("Pointer", ast.Load()), [node.func.value, self.visit(node.args[0])], [])
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in STEPS:
            return ast.Yield(ast.Tuple([ast.Constant(name), *node.args], ast.Load()))
        return ast.YieldFrom(node) if name in self._stepping else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        known = ast.Call(ast.Name("is_number", ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.IfExp(known, ast.Yield(ast.Tuple([ast.Constant("read"), node], ast.Load())), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if not isinstance(target, ast.Attribute):
            self.generic_visit(node)
            return node
        field = ast.Attribute(self.visit(target.value), target.attr, ast.Load())
        return ast.Expr(ast.Yield(ast.Tuple([ast.Constant("write"), field, self.visit(node.value)], ast.Load())))


class Machine:
    """The memory and the locks of some threads. `memory` has words by address; locks are held at first."""

    def __init__(self, call_task: Callable[..., None]) -> None:
        self.memory: dict[int, int] = defaultdict(int)
        self.is_free: dict[int, bool] = defaultdict(bool)
        self._call_task = call_task

    def can(self, step: tuple[Any, ...]) -> bool:
        """Return whether a thread can do its next step now."""
        return step[0] != "acquire_lock" or self.is_free[step[1]]

    def do(self, name: str, *given: Any) -> Any:
        """Do a step; return the result of the function."""
        if name in ("pause", "yield_processor"):
            return None
        if name == "call_task":
            return self._call_task(*given)
        if name in ("acquire_lock", "release_lock"):
            free = name == "release_lock"
            if free and self.is_free[given[0]]:
                raise Wrong(f"lock {given[0]} is released, and free")
            self.is_free[given[0]] = free
            return None
        address = given[0]
        before = self.memory[address]
        if name in ("write", "atomic_store"):
            self.memory[address] = given[-1]
        elif name == "atomic_add":
            self.memory[address] = before + given[1]
        elif name == "atomic_replace":
            if before == given[1]:
                self.memory[address] = given[2]
            return before == given[1]
        return before


Start = Callable[[], tuple[Machine, Sequence[Thread], Callable[[], None]]]


def explore(start: Start, preemptions: int) -> int:
    """Run threads in all orders with at most a given number of preemptions; return the number of orders.

    start: makes the machine, the threads, and a check to run when all have ended. Raises Wrong with the order.
    """
    orders, pending = 0, [((), 0)]
    while pending:
        switches, spent = pending.pop()
        orders += 1
        try:
            for step, others, cost in _run(*start(), dict(switches), switches[-1][0] if switches else -1):
                if spent + cost <= preemptions:
                    pending += [((*switches, (step, other)), spent + cost) for other in others]
        except Wrong as error:
            raise Wrong(f"{error}; threads are switched at (step, to): {switches}") from None
    return orders


def _run(
    machine: Machine, threads: Sequence[Thread], check: Callable[[], None], switches: dict[int, int], last: int
) -> list[tuple[int, list[int], int]]:
    """Run threads in one order. Return where others could go on: steps, threads, and their preemptions.

    A thread goes on until it waits, passes time or ends; at the steps of `switches`, another one goes on.
    last: the last step of `switches`; only later steps are returned.
    """
    at: dict[int, tuple[Any, ...]] = {number: next(thread) for number, thread in enumerate(threads)}
    found, current, passes = [], 0, set[int]()
    for step in range(MOST_STEPS):
        able = [number for number in at if machine.can(at[number])]
        if not able:
            if at:
                raise Wrong(f"threads {sorted(at)} wait for ever, at {list(at.values())}")
            check()
            return found
        ready = [number for number in able if number not in passes] or able
        goes_on = current in ready
        chosen = current if goes_on else min(ready, key=lambda number: (number - current) % len(threads))
        if step > last and (others := [number for number in ready if number != chosen]):
            found.append((step, others, int(goes_on)))
        current = switches.get(step, chosen)
        passes = {current} if at[current][0] in ("pause", "yield_processor") else set()
        try:
            at[current] = threads[current].send(machine.do(*at[current]))
        except StopIteration:
            del at[current]
    raise Wrong(f"threads {sorted(at)} have not ended after {MOST_STEPS} steps")
