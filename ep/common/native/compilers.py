"""Which compiler makes machine code for the host: ep's own, or Numba as its manual describes it.

ep's own takes less time, and keeps kernels on disk. It uses names of Numba that its manual does not have,
which are listed here. Without one of them, or with a Numba that is newer than any that was tried, Numba compiles
(`documented.py`). The bits of results are the same.
"""

from __future__ import annotations

import logging
from dis import get_instructions
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from ep.common.environment import COMPILER
from ep.common.kernel_cache.versions import version

_log = logging.getLogger("ep")

NEWEST_TRIED: Final = 0, 68
"""The newest minor release of Numba with which all tests have passed."""

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "numba._dynfunc": ("make_function",),
    "numba.core": ("cgutils", "errors", "funcdesc", "ir", "lowering", "postproc"),
    "numba.core.base": ("_wrap_impl._imp",),
    "numba.core.bytecode": ("FunctionIdentity._unique_ids",),
    "numba.core.callconv": ("RETCODE_OK", "CPUCallConv._get_return_argument", "CPUCallConv._return_errcode_raw"),
    "numba.core.ccallback": ("CFunc._compile_uncached",),
    "numba.core.codegen": (
        *("CodeLibrary._ensure_finalized", "CodeLibrary._finalized", "JITCodeLibrary._final_module"),
        *("JITCPUCodegen._engine", "JITCPUCodegen._tm", "JitEngine._ee"),
    ),
    "numba.core.compiler": (
        *("CompilerBase.compile_extra", "DefaultPassBuilder.define_nopython_pipeline"),
        *("_LowerResult", "compile_result"),
    ),
    "numba.core.compiler_lock": ("global_compiler_lock",),
    "numba.core.compiler_machinery": ("register_pass",),
    "numba.core.config": ("LOOP_VECTORIZE", "OPT.is_opt_max", "SLP_VECTORIZE", "USING_SVML"),
    "numba.core.environment": ("Environment.from_fndesc",),
    "numba.core.funcdesc": ("FunctionDescriptor",),
    "numba.core.lowering": ("Lower.create_cfunc_wrapper", "Lower.lower_inst", "Lower.post_lower", "Lower.pre_lower"),
    "numba.core.postproc": ("PostProcessor.run", "VariableLifetime", "transforms.canonicalize_cfg"),
    "numba.core.registry": ("CPUDispatcher.get_call_template", "cpu_target"),
    "numba.core.runtime.nrt": ("rtsys",),
    "numba.core.targetconfig": ("ConfigStack.enter",),
    "numba.core.typed_passes": ("NativeLowering",),
    "numba.core.types.functions": ("BaseFunction._impl_keys", "BaseFunction.get_call_type", "Dispatcher.get_call_type"),
    "numba.core.typing.templates": ("fold_arguments", "make_intrinsic_template", "signature"),
}
"""The names of Numba, beyond its manual, that ep's own compiler uses, by their modules."""


@cache
def why_documented() -> str | None:
    """Return why Numba compiles as its manual describes it; None if ep's own compiler does.

    It imports Numba, unless the choice does not depend on it.
    """
    why = chosen()
    if why is None and COMPILER.value() is None and (missing := missing_names()):
        why = _told(f"Numba {version('numba')} has no {', '.join(missing)}")
    return why


@cache
def chosen() -> str | None:
    """Return why Numba compiles as its manual describes it, as far as this is known without Numba's modules."""
    asked = COMPILER.value()
    if asked is not None:
        return f"{COMPILER.name} is {asked}" if asked == "numba" else None
    found = version("numba")
    if found is None or _minor(found) <= NEWEST_TRIED:
        return None
    newest = ".".join(map(str, NEWEST_TRIED))
    return _told(f"Numba {found} is newer than {newest}, the newest release that was tried")


def _told(why: str) -> str:
    """Warn the user, who has not asked for Numba, and return the reason."""
    _log.warning("ep: %s; kernels are compiled more slowly, and anew in each process", why)
    return why


def missing_names() -> list[str]:
    """Return the names that this Numba lacks."""
    return [f"{module}.{name}" for module, names in NAMES.items() for name in names if not _has(module, name)]


def _has(module: str, name: str) -> bool:
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            if isinstance(found, type) and not hasattr(found, part) and _sets(found, part):
                break
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return True


def _sets(owner: type[Any], name: str) -> bool:
    """Return whether a class gives its objects an attribute when it makes them."""
    makers = [vars(base).get(maker) for base in owner.__mro__ for maker in ("__init__", "_init")]
    steps = (step for maker in makers if isinstance(maker, FunctionType) for step in get_instructions(maker))
    return any(step.opname == "STORE_ATTR" and step.argval == name for step in steps)


def _minor(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])
