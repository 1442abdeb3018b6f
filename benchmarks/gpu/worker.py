"""The process that works through cases of a stage, in order: a line of JSON in the file of results for each.

It ends at an error after which the device cannot be used, so that its parent starts another one.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from typing import Any

from benchmarks.gpu.measure import Bench
from benchmarks.gpu.plan import COMMANDS
from ep import DeviceManagerRegistry, DeviceType
from ep.cuda.compile.compiler import statistics
from ep.cuda.compile.kernel_cache import KERNELS


def main() -> None:
    """Work through the cases that the argument names."""
    given = json.loads(sys.argv[1])
    (stage,) = (stage for stage in COMMANDS[given["command"]] if stage.name == given["stage"])
    file = os.open(given["file"], os.O_WRONLY | os.O_APPEND)

    def write(**line: Any) -> None:
        rounded = json.loads(json.dumps(line), parse_float=lambda text: float(f"{float(text):.4g}"))
        os.write(file, f"{json.dumps({'stage': stage.name} | rounded)}\n".encode())

    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
    device.SetAsActiveDevice()
    stream = device.CreateStream()
    bench = Bench(stream, stage.elements, **given["options"])
    about = {"device": device.properties.name, "cuda": ".".join(map(str, device.driver.version()))}
    on_disk = KERNELS.on_disk()
    about["kernels on disk"] = on_disk.why_unusable or f"{on_disk.files} in {on_disk.folder}"
    if stage.has_torch:
        try:
            from benchmarks.gpu.torch_ import Adapter

            bench.rival = Adapter(stream)
            about["torch"] = bench.rival.version
        except Exception as error:  # it is not installed, or without CUDA
            about["torch"] = f"absent: {type(error).__name__}: {error}"
    stream.Sync()
    write(worker=about)
    gc.disable()
    for name in given["cases"]:
        compiled = statistics.compiled
        try:
            found = getattr(bench, stage.does)(name)
        except Exception as error:  # it is recorded; other cases may work
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}
        if statistics.compiled > compiled:
            found["compiled"] = statistics.compiled - compiled
        if "error" in found:
            try:
                stream.Sync()
            except Exception:  # the device cannot be used any more
                write(case=name, **found, lost=True)
                os._exit(1)  # at once: what exit handlers do with such a device may never end
        write(case=name, **found)
        gc.collect()


if __name__ == "__main__":
    main()
