"""The choice of Numba's threading layer: tbb first, then omp, then workqueue."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import numba
from numba.np.ufunc import parallel

_TBB_LIBRARIES: Final = ("libtbb.so.12", "libtbb.12.dylib", "tbb12.dll")


def find_tbb() -> Path | None:
    """The library of the `tbb` package, which lies where the loader does not look; None where it is not installed."""
    try:
        files = metadata.files("tbb") or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in _TBB_LIBRARIES and (path := Path(str(file.locate()))).exists():
            return path
    # a copy of site-packages without the package's records
    beside = (Path(folder or ".") / "lib" / name for folder in sys.path for name in _TBB_LIBRARIES)
    return next((path for path in beside if path.exists()), None)


def select() -> tuple[str, str]:
    """Choose Numba's threading layer, before the first parallel launch; return (layer, why).

    `NUMBA_THREADING_LAYER` and `NUMBA_THREADING_LAYER_PRIORITY`, which belong to the user, and a layer that already
    runs are left as they are.
    """
    if parallel._is_initialized:
        return numba.threading_layer(), "it ran before the first launch"
    asked = str(numba.config.THREADING_LAYER)
    if asked in ("omp", "workqueue"):
        return _start(), f"NUMBA_THREADING_LAYER asks for {asked!r}"
    library = find_tbb()
    if library is not None:
        try:
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            return _start(), f"tbb cannot be loaded: {error}"
    if asked != "default":
        return _start(), f"NUMBA_THREADING_LAYER asks for {asked!r}"
    if "NUMBA_THREADING_LAYER_PRIORITY" in os.environ:
        return _start(), f"NUMBA_THREADING_LAYER_PRIORITY is {os.environ['NUMBA_THREADING_LAYER_PRIORITY']!r}"
    layer = _start()
    if layer == "tbb":
        return layer, "concurrent launches and os.fork() work"
    missing = "no usable tbb library was found" if library is None else f"Numba does not accept {library}"
    caveat = {
        "omp": "launches may run concurrently, but not after os.fork()",
        "workqueue": "launches take turns; it allows neither concurrent ones nor other users",
    }
    return layer, f"{missing}; {caveat[layer]}"


def _start() -> str:
    """Start the layer that Numba's settings lead to, and return its name."""
    parallel._launch_threads()
    return numba.threading_layer()
