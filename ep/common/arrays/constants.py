"""Arrays that do not change, such as the weights of models: in this process, those with equal contents share memory."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakValueDictionary, ref

import numpy as np

from ep.common.arrays.on_device import copied_from_host
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays

NDArray = np.ndarray[Any, Any]


def digest_of(array: NDArray) -> str:
    """Return the SHA-256 of the elements of a host array."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


class Constants:
    """The constant arrays of all devices. An array is known as long as anything else refers to it."""

    def __init__(self) -> None:
        self._known = WeakValueDictionary[Any, Any]()  # by device, dtype, digest, and shape or None
        self._digests = dict[int, tuple[Any, str]]()  # of known arrays of the host, by their ids

    def digest(self, array: NDArray) -> str:
        """Return `digest_of` a host array: the known one of an array of these."""
        found, digest = self._digests.get(id(array), (None, ""))
        if found is not None and found() is array:
            return digest
        return digest_of(array)

    def placed(self, base: Arrays, array: NDArray) -> Array:
        """Return an array of a device with the contents of a host array."""
        digest = self.digest(array)
        return self.found(base, digest, array.dtype, array.shape, lambda: array)

    def found(self, base: Arrays, digest: str, dtype: np.dtype[Any], shape: Dims, read: Callable[[], NDArray]) -> Array:
        """Return an array of a device. digest: of its contents. read: returns them; it is called if none is known."""
        key = base.device_type, base.place, dtype, digest
        found = self._known.get((key, shape))
        if found is None:
            like = self._known.get((key, None))
            if like is not None and like.size == math.prod(shape):
                made = like.reshape(shape)
            else:
                made = copied_from_host(base, read())
            try:
                found = self._known.setdefault((key, shape), made)  # another thread may have been faster
            except TypeError:  # arrays of another package's device, to which there are no weak references
                return made
            self._known[key, None] = found
            if isinstance(found, np.ndarray):
                number = id(found)
                self._digests[number] = ref(found, lambda gone: self._forget(number, gone)), digest
        return found

    def _forget(self, number: int, gone: Any) -> None:
        if self._digests.get(number, (None, ""))[0] is gone:
            del self._digests[number]


CONSTANTS: Final = Constants()
"""Those of this process."""
