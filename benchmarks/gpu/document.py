"""The file of results: the machine, the date, the versions and the measurements."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks import machine

RESULTS: Final = Path(__file__).resolve().parents[1] / "results"
_DIGITS: Final = 4  # no measurement has more significant digits
_PACKAGES: Final = (
    *("numba-cuda", "cuda-bindings", "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-runtime"),
    *("cupy-cuda13x", "cupy-cuda12x", "cupy"),
)


def describe(device: Any) -> dict[str, Any]:
    """Return device, driver, versions, machine and date."""
    properties = device.properties
    described = machine.describe(1)
    del described["threads"]
    return described | {
        "device": {
            "name": properties.name,
            "compute_capability": ".".join(map(str, properties.compute_capability)),
            "multiprocessors": properties.multiprocessors,
            "memory_bytes": properties.total_memory,
        },
        "driver": {"version": _driver_version(), "cuda": ".".join(map(str, device.driver.version()))},
        "versions": described["versions"] | {name: version for name in _PACKAGES if (version := _version(name))},
    }


def default_path(document: dict[str, Any]) -> Path:
    """Return the path benchmarks/results/gpu-DEVICE-DATE.json."""
    name = re.sub(r"[^a-z0-9]+", "-", document["device"]["name"].lower()).strip("-")
    return RESULTS / f"gpu-{name}-{document['date'][:10]}.json"


def write(path: Path, document: dict[str, Any]) -> None:
    """Write JSON, a line for each case. A reader sees the old file or the whole new one, never a part."""
    rest = {name: value for name, value in _rounded(document).items() if name != "results"}
    lines = ",\n".join(json.dumps(result, separators=(",", ":")) for result in _rounded(document["results"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(f'{json.dumps(rest, indent=1)[:-2]},\n "results": [\n{lines}\n]\n}}\n')
    beside.replace(path)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(element) for name, element in value.items()}
    return [_rounded(element) for element in value] if isinstance(value, list) else value


def _driver_version() -> str:
    """Return the version of NVIDIA's kernel driver; empty if nvidia-smi does not report it."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().partition("\n")[0]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
