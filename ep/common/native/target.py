"""The target of compiled code: the processor, as LLVM names it, and the settings of Numba.

LLVM and Numba know it, but to load them takes a tenth of a second. So it is kept on disk, for a processor that the
system describes in the same words, and in which NumPy finds the same features: an emulator, such as Valgrind, has fewer
of them than the system says. A process in which Numba is loaded or configured asks Numba.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
import sys
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple, get_type_hints

from ep.common.environment import NUMBA_DISABLE_JIT, numba_is_configured
from ep.common.kernel_cache.cache import KernelCache
from ep.common.native.on_demand import binding, numba
from ep.common.processors import description
from ep.include.errors import EnvironmentVariableError

_SETTINGS: Final = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "LLVM_REFPRUNE_PASS")
"""Numba's settings that change its code, so that code compiled for debugging is not found later."""

_first: Final[dict[str, Target]] = {}
"""The target that was first returned: kernels are written for it, so Numba must compile for it."""


class Target(NamedTuple):
    """The target of compiled code.

    triple, processor, features: as LLVM has them; features: with + or - in front, and commas between.
    is_own: whether code may use all instructions of this processor, and LLVM knows them.
    settings: the values of Numba's settings that change its code.
    data_paths: CPUID's bits about the data paths of this processor: AMD's report them, Intel's do not. 0 on others.
    """

    triple: str
    processor: str
    features: str
    is_own: bool
    settings: str
    data_paths: int

    def has(self, *features: str) -> bool:
        """Return whether the features are all among those of the target, by name."""
        return {f"+{feature}" for feature in features} <= {*self.features.split(",")}

    @property
    def is_x86_64(self) -> bool:
        """Whether the processor is an x86-64 one."""
        return self.triple.startswith("x86_64")


def target(kernels: KernelCache) -> Target:
    """Return the target of this process.

    kernels: the kernels on disk, beside which the target is kept.

    Raises EnvironmentVariableError if Numba compiles nothing, or for another processor than the first target returned.
    """
    found = _asked() if "numba" in sys.modules or numba_is_configured() else _kept(kernels)
    first = _first.setdefault("target", found)
    if (found.triple, found.processor, found.features) != (first.triple, first.processor, first.features):
        raise EnvironmentVariableError(
            f"Numba compiles for {found.processor}, but kernels of this process are for {first.processor}; it must be "
            "told by NUMBA_CPU_NAME and NUMBA_CPU_FEATURES before ep is first used. If neither is set, run "
            "'ep cache clear'",
        )
    return found


@cache
def _kept(kernels: KernelCache) -> Target:
    known, seen = description(), _seen_by_numpy()
    if known is None or seen is None:
        return _asked()
    text = f"{sys.platform} {platform.machine()} {known} {seen}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = f"target-{digest}.target"
    found = kernels.read(name, _unpacked)
    if found is None:
        found = _asked()
        kernels.write(name, json.dumps(found._asdict()).encode())
    return found


def _seen_by_numpy() -> str | None:
    """Return the features that NumPy finds: as LLVM, it asks the processor and not the system. None if it does not say
    so: no version of NumPy promises it.
    """
    try:
        features = import_module("numpy._core._multiarray_umath").__cpu_features__
        return " ".join(sorted(name for name, is_there in features.items() if is_there))
    except (ImportError, AttributeError):
        return None


def _unpacked(contents: bytes) -> Target | None:
    """Return the target that a file holds; None if it is none."""
    kinds = get_type_hints(Target)
    try:
        found = json.loads(contents)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(found, dict) and found.keys() == kinds.keys()
    return Target(**found) if fits and all(type(found[name]) is kind for name, kind in kinds.items()) else None


def _asked() -> Target:
    config = numba.config
    if config.DISABLE_JIT:  # set by Numba's settings file or the program; the environment variable is checked already
        raise EnvironmentVariableError(
            f"numba.config.DISABLE_JIT is set; it must be {NUMBA_DISABLE_JIT.valid}",
        )
    triple, processor, features = binding.get_process_triple(), config.CPU_NAME, config.CPU_FEATURES
    processor = binding.get_host_cpu_name() if processor is None else processor
    features = _features(bool(config.ENABLE_AVX)) if features is None else features
    settings = repr([str(getattr(config, name, None)) for name in _SETTINGS])
    return Target(triple, processor, features, _is_own(features), settings, _data_paths(triple))


@cache
def _features(with_avx: bool) -> str:
    """Return the features that Numba compiles for, unless it is told others. with_avx: whether it may use AVX."""
    try:
        found = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot ask this processor
        return ""
    if not with_avx:
        found.update((name, False) for name in found if name.startswith("avx"))
    return str(found.flatten())


@cache
def _is_own(features: str) -> bool:
    return features != "" and features == binding.get_host_cpu_features().flatten()


_DATA_PATHS: Final = """
define i32 @data_paths() {
  %most = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 u0x80000000, i32 0)
  %leaf = extractvalue { i32, i32, i32, i32 } %most, 0
  %known = icmp uge i32 %leaf, u0x8000001A
  br i1 %known, label %ask, label %unknown

ask:
  %said = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 u0x8000001A, i32 0)
  %word = extractvalue { i32, i32, i32, i32 } %said, 0
  ret i32 %word

unknown:
  ret i32 0
}
"""


def llvm_target(triple: str) -> Any:
    """Return LLVM's target of this name, which reads and writes assembly."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    return binding.Target.from_triple(triple)


@cache
def _data_paths(triple: str) -> int:
    if not triple.startswith("x86"):
        return 0
    machine = llvm_target(triple).create_target_machine()
    with binding.create_mcjit_compiler(binding.parse_assembly(_DATA_PATHS), machine) as engine:
        function: Any = ctypes.CFUNCTYPE(ctypes.c_uint32)(engine.get_function_address("data_paths"))
        return int(function())
