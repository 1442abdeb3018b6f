"""Plans on disk: a process that computes a graph as an earlier one did needs no operators and no planning.

A plan is a recorded list of launches (`Repeat.image`), with the constants that it reads. Constants that are in the file
of a model are read from there. Other large ones have a file each, named by their contents, which all plans of the graph
share; it is removed with the last of these plans. Everything is found by the digest of the graph, by the sources of ep,
and by the version of the package that the graph comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from typing import Any, Final, TypeVar

from ep.common.arrays.on_device import arrays_on
from ep.common.kernel_cache.versions import version
from ep.common.plans.stored_plan import Launches, Origin, StoredPlan, Workspace, digests_in, packed, unpacked
from ep.include.additions import has_additions
from ep.include.compiled_kernels import KEPT
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

T = TypeVar("T")
_KEPT: Final = 16
"""The most plans of one graph on disk: those written last."""


class StoredPlans:
    """What is on disk of a graph for a device.

    Each plan has a key: an object with equal `repr` in all processes, which says for what inputs and outputs it is.
    """

    def __init__(self, origin: Origin, package: str, device_type: DeviceType) -> None:
        """package: reads graphs, or makes them."""
        self._origin, self._workspaces = origin, list[Workspace]()  # that no thread uses now
        self._device_type = device_type
        self._kernels = DeviceManagerRegistry.GetDeviceManager(device_type).compiled_kernels()
        may_keep = not has_additions(device_type) and arrays_on(device_type).has_images
        sources = self._kernels and may_keep and self._kernels.digest()
        self._made_by = f"{sources} {package} {version(package)}" if sources else ""
        self._written: set[str] = set()  # the names of constants that are on disk
        self._places = dict[str, int]()  # of constants in the contents of the origin, by their digests

    def with_origin(self, origin: Origin) -> StoredPlans:
        """Return what is on disk of another graph, made by the same sources, which are not looked at again, in the same
        memory."""
        found = copy(self)
        found._origin, found._written, found._places = origin, set(), {}
        return found

    @property
    def keeps(self) -> bool:
        """Whether plans of this process are written."""
        return self._has_names and not has_additions(self._device_type)

    @property
    def _has_names(self) -> bool:
        return self._made_by != "" and self._origin.digest != ""

    def plan(self, key: object, make: Callable[..., Any], *told: Any) -> Any:
        """Return a plan: the one on disk, or a new one. A process with kernels of other packages for the device makes
        its own plans.

        make: returns a new plan. It gets a function that keeps the launches of the plan, which is None if plans are not
        kept, and `told`, or what a call of `outputs` is told that finds the plan on disk of no use.
        """

        def made(*told: Any) -> Any:
            return make(partial(self.keep_plan, key) if self.keeps else None, *told)

        read = partial(self.read, "launches", key, unpacked)
        contents = None if has_additions(self._device_type) else read()
        if contents is None:
            return made(*told)
        return StoredPlan(self._origin, contents, read, made, self._reading, self._workspaces)

    def keep_plan(self, key: object, launches: Launches) -> None:
        """Write a plan, unless it has no image, or its origin has been removed, or has changed."""
        image = launches.image() if self._kernels and self.keeps else None
        if not self._kernels or image is None:
            return
        try:
            contents, large = packed(launches, image, cache(self._origin.contents), self._places)
        except (OSError, ValueError):
            return
        finally:
            self._origin.forget()
        with self._reading() as constant:
            missing = [one for one in large if self._name_of_constant(one) not in self._written and not constant(one)]
        for digest in missing:
            name = self._name_of_constant(digest)
            self._kernels.write(name, bytes.fromhex(digest) + large[digest].tobytes(), None)
            self._written.add(name)
        self.write("launches", key, contents, _KEPT)
        self._remove_constants()

    def read(self, kind: str, key: object, form: Callable[[bytes], T | None]) -> T | None:
        """Return the contents of a file, decoded; None if it is not on disk. kind: the beginning of its name."""
        return self._kernels.read(self._name(kind, key), form) if self._kernels and self._has_names else None

    def write(self, kind: str, key: object, contents: bytes, kept: int = KEPT) -> None:
        """Write a file, unless a source was edited before it was imported. kept: how many of the kind remain of the
        graph."""
        if self._kernels and self.keeps and self._kernels.digest():
            self._kernels.write(self._name(kind, key), contents, kept)

    @contextmanager
    def _reading(self) -> Iterator[Callable[[str], bytes | None]]:
        """Return a function that reads constants with files, by their digests: None for one that is not on disk."""
        assert self._kernels is not None
        with self._kernels.reading() as read:

            def constant(digest: str) -> bytes | None:
                name, begin = self._name_of_constant(digest), bytes.fromhex(digest)
                found = read(name, lambda contents: contents[len(begin) :] if contents.startswith(begin) else None)
                if found is not None:
                    self._written.add(name)
                return found  # type: ignore[no-any-return]

            yield constant

    def _remove_constants(self) -> None:
        """Remove the constants that no plan of the graph needs, once old plans give way to new ones.

        A process that writes a plan meanwhile may miss one: then its plan is made again.
        """
        assert self._kernels is not None
        plans = self._kernels.names(f"launches.{self._origin.digest}", "plan")
        if len(plans) < _KEPT:
            return
        constants = {*self._kernels.names(f"constant.{self._origin.digest}", "plan")}
        for name in plans if constants else ():
            constants -= {*map(self._name_of_constant, self._kernels.read(name, digests_in) or ())}
        self._kernels.remove(constants)
        self._written -= constants

    def _name_of_constant(self, digest: str) -> str:
        return f"constant.{self._origin.digest}-{digest[:16]}.plan"

    def _name(self, kind: str, key: object) -> str:
        digest = hashlib.sha256(repr((self._made_by, key)).encode()).hexdigest()[:16]
        return f"{kind}.{self._origin.digest}-{digest}.plan"
