"""The extensible set of device types, and the discovery of packages that add to it."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Final

from ep.garbage import garbage_waits
from ep.include.errors import ArgumentValueError, DuplicateRegistrationError
from ep.include.process import exclusively
from ep.include.suggest import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

ENTRY_POINT_GROUP: Final = "ep.devices"
_NAME: Final = "k[A-Z][A-Za-z0-9]*"
_BUILT_IN: Final = {"cpu": "ep.cpu", "cuda": "ep.cuda"}
_loaded: set[str] = set()
_loading: set[str] = set()


def load_provider(tag: str) -> None:
    """Import the provider of the device type `tag`, once: a part of this package, or the entry point `tag`.

    The provider registers its device type and device manager, and its factories or the package that has them. An
    unknown tag is left to the caller.
    """
    if tag in _loaded:
        return
    with garbage_waits(all_is_kept=True):
        exclusively(lambda: _load(tag))  # another thread waits until everything is registered


def load_own_provider(tag: str) -> None:
    """Import the provider of the device type `tag` if it is one of this package, once."""
    if tag in _BUILT_IN:
        load_provider(tag)


def _load(tag: str) -> None:
    if tag in _loaded or tag in _loading:  # a provider may use its own device type while it is imported
        return
    _loading.add(tag)
    try:
        if tag in _BUILT_IN:
            import_module(_BUILT_IN[tag])
        else:
            for entry_point in _entry_points().select(name=tag):
                entry_point.load()
        _loaded.add(tag)
    finally:
        _loading.discard(tag)


def _entry_points() -> EntryPoints:
    """Return the entry points of the group."""
    return exclusively(_search)  # from Python 3.15 on, the search itself imports


def _search() -> EntryPoints:
    return _found(tuple([(folder, _changed(folder)) for folder in sys.path]))


@lru_cache(1)
def _found(folders: tuple[tuple[str, int], ...]) -> EntryPoints:
    """Return the entry points of packages in the folders, given with the times of their last changes: the search takes
    tens of milliseconds, and the text of each error about a kernel needs it."""
    from importlib import metadata  # not at the top: `import ep` stays quick

    return metadata.entry_points(group=ENTRY_POINT_GROUP)


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def load_all_providers() -> None:
    """Import every provider of device types: those of this package, then all of the entry-point group.

    If a package of the group cannot be imported, this warns and skips it: it must not break the others.
    """
    for tag in _BUILT_IN:
        load_provider(tag)
    for entry_point in _entry_points():
        if entry_point.name in _BUILT_IN:
            warnings.warn(
                f"entry point {entry_point.name!r} ({entry_point.value}) is ignored: it is a device type of ep itself",
                stacklevel=2,
            )
        try:
            load_provider(entry_point.name)
        except Exception as error:
            warnings.warn(
                f"device type {entry_point.name!r} ({entry_point.value}) cannot be loaded: {error!r}", stacklevel=2
            )


class _Members(type):
    """The metaclass that iterates over the members, and finds one whose package has not been imported yet."""

    _by_name: dict[str, DeviceType]

    def __iter__(cls) -> Iterator[DeviceType]:
        return iter(tuple(cls._by_name.values()))

    def __getattr__(cls, name: str) -> DeviceType:
        if re.fullmatch(_NAME, name):
            try:
                load_provider(name[1:].lower())
            except Exception as error:  # attribute lookup must raise AttributeError: hasattr relies on it
                raise AttributeError(f"DeviceType.{name} cannot be loaded: {error!r}") from error
            if name not in cls._by_name:
                load_all_providers()
            if name in cls._by_name:
                return cls._by_name[name]
        raise AttributeError(f"there is no DeviceType.{name}{did_you_mean(name, cls._by_name)}")


class DeviceType(metaclass=_Members):
    """A kind of device, such as `DeviceType.kCPU`. The set is extensible: `Register` adds to it.

    name: the enumerator's name, "kCPU".
    tag: the name that users type, "cpu"; for other devices than those of this package, an entry point of that name in
        the group `ep.devices` provides it.
    """

    __slots__ = ("name", "tag")
    _by_name: ClassVar[dict[str, DeviceType]] = {}
    kCPU: ClassVar[DeviceType]
    kCUDA: ClassVar[DeviceType]

    name: str
    tag: str

    def __init__(self) -> None:
        raise TypeError("a DeviceType is made with DeviceType.Register(name, tag)")

    @classmethod
    def Register(cls, name: str, tag: str) -> DeviceType:
        """Add a device type and return it; the same pair again returns the same device type.

        name: "k" and a capitalised word ("kFoo"), which becomes an attribute of this class.
        tag: lower case ("foo"), for the command line and the entry point.
        Raises ValueError for names of another form, DuplicateRegistrationError if one of the two is taken.
        """
        if not re.fullmatch(_NAME, name):
            raise ArgumentValueError("name", f"is {name!r}; it must be 'k' and a capitalised word, such as 'kFoo'")
        if not re.fullmatch("[a-z][a-z0-9_-]*", tag):
            raise ArgumentValueError("tag", f"is {tag!r}; it must be a lower-case word, such as 'foo'")
        for member in cls:
            if (member.name, member.tag) == (name, tag):
                return member
            if member.name == name or member.tag == tag:
                raise DuplicateRegistrationError(
                    f"({name!r}, {tag!r}) clashes with {member!r}, whose tag is {member.tag!r}"
                )
        member = object.__new__(cls)
        object.__setattr__(member, "name", name)
        object.__setattr__(member, "tag", tag)
        cls._by_name[name] = member
        setattr(cls, name, member)
        return member

    @classmethod
    def FromTag(cls, tag: str, argument: str = "device") -> DeviceType:
        """Return the device type with `tag`; imports the package that provides it.

        argument: the name of the caller's argument. Raises ValueError, which begins with it, if there is none.
        """
        load_provider(tag)
        for member in cls:
            if member.tag == tag:
                return member
        known = dict.fromkeys([*(member.tag for member in cls), *(one.name for one in _entry_points())])
        raise ValueError(f"{argument} {tag!r} is not known{did_you_mean(tag, known)} (known: {', '.join(known)})")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self!r} cannot be changed")

    def __repr__(self) -> str:
        return f"DeviceType.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return DeviceType.Register, (self.name, self.tag)


DeviceType.Register("kCPU", "cpu")
DeviceType.Register("kCUDA", "cuda")
