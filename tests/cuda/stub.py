"""Builds the mock of the driver's library, and runs Python processes that load it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ep.cuda.driver.packages import why_no_kernels
from tests.forked import forking
from tests.subprocesses import SOURCES, environment_of
from tools.search_paths import extended

COMPILER = shutil.which(os.environ.get("CC", "cc"))

needs_stub = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is written for Linux"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler is here to make the stand-in"),
    pytest.mark.skipif(why_no_kernels() is not None, reason=str(why_no_kernels())),
]


def build(folder):
    """Compile the mock into a folder."""
    source, library = Path(__file__).with_name("stub_driver.c"), folder / "libcuda.so.1"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*command, "-o", library, source, "-ldl"], check=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a libcuda.so.1 that needs no GPU."""
    folder = tmp_path_factory.mktemp("stub")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def forked(folder):
    """A function that runs code in forks of one interpreter that finds the mock as the driver; see `forking`."""
    with forking(IMPORTS, LD_LIBRARY_PATH=extended("LD_LIBRARY_PATH", folder)) as run_forked:
        yield run_forked


@pytest.fixture
def python(folder, forked):
    """A function that runs Python with the mock as the driver, and returns its stdout and stderr.

    The code after `-c` runs in a fork of an interpreter that has imported the compiler of kernels.
    """

    def run(*arguments, **environment):
        if arguments[0] == "-c":
            return forked(arguments[1], merged=True, **environment).splitlines()
        own = {"LD_LIBRARY_PATH": extended("LD_LIBRARY_PATH", folder)}
        done = subprocess.run(
            [sys.executable, "-P", *arguments],
            env=environment_of((), own | environment),
            cwd=SOURCES,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout.splitlines()

    return run


def cubin(static_bytes=0, values=1):
    """Return the cubin of a kernel of two words. values: the 32-bit numbers that it needs at a time in registers."""
    from ep.cuda.compile.compiler import assemble

    registers = [f"%r{k}" for k in range(values)]
    body = [f"ld.volatile.u32 {one}, [%rd1+{4 * k}];" for k, one in enumerate(registers)]
    body += [f"st.volatile.u32 [%rd1+{4 * k}], {one};" for k, one in enumerate(registers[::-1])]
    kept = f".shared .align 4 .b8 kept[{static_bytes}];" if static_bytes else ""
    text = f"""
.version 9.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 more[];
.visible .entry ep_kernel(.param .u64 first, .param .u64 second)
{{
    {kept}
    .reg .b32 %r<{values + 1}>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [first];
    {f"st.volatile.shared.u32 [kept+{static_bytes - 4}], 1;" if static_bytes else ""}
    st.volatile.shared.u32 [more], 1;
    {" ".join(body)}
    ret;
}}
"""
    return assemble(text, (9, 0))


IMPORTS = "import ep.ops, ep.cuda.compile.compiler, ep.cuda.compile.loader, ep.cuda.launch.code"
BEGIN = """
import threading
from ep import *
from ep.cuda.driver.interface import CudaError, ParameterBlock
from ep.cuda.device.stream import CudaStream
cuda = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, 0)
driver = cuda.driver
"""
