"""Buffers between guard bytes, anywhere in memory."""

import numpy as np


class Guarded:
    """A buffer on the device with random bytes on both sides of it, which a launch must not change."""

    def __init__(self, device, rng: np.random.Generator, contents: np.ndarray) -> None:
        """Make the buffer. contents: those of the buffer, `view`. It begins at any byte on the host, elsewhere at a
        multiple of 16.
        """
        before = int(rng.integers(1, 200))
        if not device.on_host:
            before *= 16  # sufficient for all data types
        self._first, self._end = before, before + contents.nbytes
        self._image = rng.integers(0, 256, self._end + int(rng.integers(1, 200)), np.uint8)
        self._image[self._first : self._end] = contents.reshape(-1).view(np.uint8)
        self._device = device
        self.block = device.buffer(self._image)
        self.view = self.block[self._first : self._end].view(contents.dtype)

    def check(self, name: str, expected: np.ndarray | None = None) -> None:
        """Raise AssertionError if a guard byte has changed, or if a byte of the buffer differs from `expected`."""
        image = self._image.copy()
        if expected is not None:
            contents = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
            image[self._first : self._first + contents.size] = contents
        found = np.array(self._device.array(self.block))
        if expected is not None:
            for each in (found, image):
                _with_one_nan(each[self._first : self._end].view(self.view.dtype))
        wrong = np.flatnonzero(found != image)
        if wrong.size:
            inside = np.count_nonzero((wrong >= self._first) & (wrong < self._end))
            raise AssertionError(
                f"{name}: {wrong.size} bytes are wrong, {inside} of them among the {self._end - self._first} of the "
                f"buffer, the first at byte {wrong[0] - self._first}: {found[wrong[:16]]} for {image[wrong[:16]]}"
            )


def _with_one_nan(numbers: np.ndarray) -> None:
    """Replace each NaN by the same one: which NaN a result is, is not defined."""
    if numbers.dtype.kind == "c":
        numbers = numbers.view(f"f{numbers.itemsize // 2}")
    if numbers.dtype.kind in "fV":
        numbers[np.isnan(numbers)] = np.nan
