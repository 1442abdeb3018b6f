"""The environment variables that the package reads: each is declared, read and checked here, and nowhere else.

Variables of other libraries that are read while the library loads are set here, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from ep.include.errors import EnvironmentVariableError

T = TypeVar("T")

MAX_THREADS: Final = 1024
"""The largest number of threads that the CPU device can be given."""


@dataclass(frozen=True)
class Variable(Generic[T]):
    """An environment variable.

    name: its name in the environment.
    meaning: its effect, for users.
    valid: its valid values, as the end of the sentence "it must be ...".
    parse: returns its value from a text; raises ValueError if that is not valid.
    default: its value if it is not set.
    may_be_empty: whether an empty value has a meaning; otherwise it counts as not set.
    """

    name: str
    meaning: str
    valid: str
    parse: Callable[[str], T]
    default: T
    may_be_empty: bool = False

    def text(self) -> str | None:
        """Return its text, or None if it is not set."""
        text = os.environ.get(self.name)
        return text if text or self.may_be_empty else None

    def value(self) -> T:
        """Return the current value.

        Raises EnvironmentVariableError, which names the variable, if it is set to an invalid value.
        """
        text = self.text()
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except ValueError:
            raise EnvironmentVariableError(f"{self.name} is {text!r}; it must be {self.valid}") from None


@contextmanager
def set_meanwhile(name: str, text: str) -> Iterator[None]:
    """Set a variable of another library, and restore its value afterwards."""
    given = os.environ.get(name)
    os.environ[name] = text
    try:
        yield
    finally:
        if given is None:
            del os.environ[name]
        else:
            os.environ[name] = given


def _matching(pattern: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError
        return text

    return parse


def _number(text: str) -> int:
    """Return the number that a text of digits represents. int() also accepts spaces, underscores, signs and more."""
    return int(_matching("[0-9]{1,9}")(text))


def _threads(text: str) -> int:
    number = _number(text)
    if not 1 <= number <= MAX_THREADS:
        raise ValueError
    return number


def _folder(text: str) -> Path:
    """Return the path that a text names. It must be absolute; `~` is not expanded: the shell does that."""
    if not os.path.isabs(text):
        raise ValueError
    return Path(text)


def _off(text: str) -> bool:
    if _number(text) != 0:
        raise ValueError
    return False


CPU_NUM_THREADS: Final[Variable[int | None]] = Variable(
    "EP_CPU_NUM_THREADS",
    "threads that a launch on the CPU uses; without it, as many as there are processors for the process",
    f"a number of threads from 1 to {MAX_THREADS}, in digits alone",
    _threads,
    None,
)
COMPILE_PROCESSES: Final[Variable[int | None]] = Variable(
    "EP_COMPILE_PROCESSES",
    "processes that help to compile the kernels of a program on the CPU; without it, one less than the processors for "
    "the process, but at most 3",
    f"a number of processes from 0 to {MAX_THREADS}, in digits alone",
    lambda text: _threads(text) if _number(text) else 0,
    None,
)
CACHE_DIR: Final[Variable[Path | None]] = Variable(
    "EP_CACHE_DIR",
    "folder of the compiled kernels; without it, 'ep' in the user's cache folder",
    "an absolute path",
    _folder,
    None,
)
XDG_CACHE_HOME: Final[Variable[Path | None]] = Variable(
    "XDG_CACHE_HOME",
    "the user's cache folder on Linux; without it, ~/.cache",
    "an absolute path",
    _folder,
    None,
)
LOCALAPPDATA: Final[Variable[Path | None]] = Variable(
    "LOCALAPPDATA",
    "the user's cache folder on Windows; without it, AppData\\Local of the user",
    "an absolute path",
    _folder,
    None,
)
CUDA_VISIBLE_DEVICES: Final[Variable[str | None]] = Variable(
    "CUDA_VISIBLE_DEVICES",
    "the GPUs that the CUDA driver shows; none where it is set to nothing",
    "what the CUDA driver takes",
    str,
    None,
    may_be_empty=True,
)
COMPILER: Final[Variable[str | None]] = Variable(
    "EP_COMPILER",
    "the compiler of code for the host: ep's, which needs names that Numba has no manual of, or numba, which takes "
    "longer and computes the same bits; without it, ep's if this Numba was tried and has the names",
    "ep or numba",
    _matching("ep|numba"),
    None,
)
NUMBA_ENABLE_CUDASIM: Final[Variable[bool]] = Variable(
    "NUMBA_ENABLE_CUDASIM",
    "1 has Numba simulate CUDA in Python, and there is no CUDA device for ep then",
    "0 or another number, in digits alone",
    lambda text: _number(text) != 0,
    False,
)
NUMBA_DISABLE_JIT: Final[Variable[bool]] = Variable(
    "NUMBA_DISABLE_JIT",
    "1 turns Numba's compiler off, without which nothing runs on the CPU",
    "0 or not set: kernels work on raw memory and cannot run uncompiled",
    _off,
    False,
)
NUMBA_CPU_NAME: Final[Variable[str | None]] = Variable(
    "NUMBA_CPU_NAME",
    "the processor that kernels on the CPU are compiled for; without it, the one that is there",
    "the name of a processor as LLVM has it, such as x86-64-v3",
    _matching("[A-Za-z0-9._-]+"),
    None,
)
NUMBA_CPU_FEATURES: Final[Variable[str | None]] = Variable(
    "NUMBA_CPU_FEATURES",
    "instructions that these kernels use beside those of NUMBA_CPU_NAME; without it, all of the one that is there",
    "features as LLVM has them, each with + or - in front and commas between, such as +avx2,-avx512f, or nothing",
    _matching("([+-][^,\\s]+(,[+-][^,\\s]+)*)?"),
    None,
    may_be_empty=True,
)
CUDA_GRID: Final[Variable[str]] = Variable(
    "EP_CUDA_GRID",
    "blocks of the CUDA kernels that compute or copy each element once: resident, as many as the GPU holds, or pass, "
    "with four packs for each thread; without it, resident",
    "resident or pass",
    _matching("resident|pass"),
    "resident",
)
CUDA_STORES: Final[Variable[str]] = Variable(
    "EP_CUDA_STORES",
    "stores of these kernels: cached, or streaming, as what is not read again soon; without it, cached",
    "cached or streaming",
    _matching("cached|streaming"),
    "cached",
)
TEST_SEED: Final[Variable[int]] = Variable(
    "EP_TEST_SEED",
    "seed of the random numbers of the tests; a test that fails prints the one that it had",
    "a number, in digits alone",
    _number,
    20260101,
)

VARIABLES: Final[tuple[Variable[Any], ...]] = (
    CPU_NUM_THREADS,
    COMPILE_PROCESSES,
    CACHE_DIR,
    COMPILER,
    LOCALAPPDATA if os.name == "nt" else XDG_CACHE_HOME,
    CUDA_VISIBLE_DEVICES,
    CUDA_GRID,
    CUDA_STORES,
    NUMBA_ENABLE_CUDASIM,
    NUMBA_DISABLE_JIT,
    NUMBA_CPU_NAME,
    NUMBA_CPU_FEATURES,
    TEST_SEED,
)
"""All variables, in the order in which users look for them."""


def check_all() -> None:
    """Raise EnvironmentVariableError for the first variable that is set to an invalid value."""
    for variable in VARIABLES:
        variable.value()


_OF_CODE: Final = (
    *("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT", "NUMBA_LOOP_VECTORIZE"),
    *("NUMBA_SLP_VECTORIZE", "NUMBA_DEBUGINFO", "NUMBA_LLVM_REFPRUNE_PASS", "NUMBA_DISABLE_JIT"),
    *("NUMBA_ENABLE_PROFILING", "VS_PROFILER"),  # without NUMBA_DEBUGINFO, a profiler has it compile for debugging
)


def numba_is_configured() -> bool:
    """Return whether a variable or a file may change the code that Numba compiles."""
    return not os.environ.keys().isdisjoint(_OF_CODE) or os.path.exists(".numba_config.yaml")


def check_compiler() -> None:
    """Raise EnvironmentVariableError if a variable has a value with which Numba would crash or compile nothing."""
    for variable in (NUMBA_DISABLE_JIT, NUMBA_CPU_NAME, NUMBA_CPU_FEATURES):
        variable.value()
