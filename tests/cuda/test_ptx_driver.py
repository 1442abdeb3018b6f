"""The machine as the driver of a GPU: the PTX that it loads, and the memory and streams that a launch may use."""

import numpy as np
import pytest

from ep.cuda.driver.interface import CudaError, ParameterBlock
from tests.cuda.ptx_machine.driver import PtxDriver
from tests.cuda.ptx_machine.faults import PtxError

STORE = b"""// stores
.version 9.0
.target sm_90
.address_size 64
.visible .entry ep_kernel(.param .u64 place)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [place];
    st.global.u64 [%rd1], 7;
    ret;
}
"""

STATIC = b""".version 9.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 more[];
.shared .align 4 .b8 kept[66];
.visible .entry ep_kernel(.param .u64 place)
{
    ret;
}
"""


@pytest.fixture
def driver():
    return PtxDriver()


def launch(driver, address, stream=0):
    store = driver.load_function(0, STORE, "ep_kernel")
    parameters = ParameterBlock(1)
    parameters.words[0] = address
    driver.launch(0, store, (1, 1, 1), (1, 1, 1), 0, stream, parameters)


def test_what_is_allocated_may_be_written(driver):
    address = driver.alloc(0, 24)
    launch(driver, address + 16)
    found = np.zeros(3, np.uint64)
    driver.copy(0, found.ctypes.data, address, 24, 0)
    assert found[2] == 7
    (program,) = driver.programs
    assert sum(program.executed().values()) == 3


@pytest.mark.parametrize("offset", [-8, 24], ids=["before", "behind"])
def test_what_is_around_it_may_not(driver, offset):
    address = driver.alloc(0, 24)
    with pytest.raises(PtxError, match=r"stores, line 9 of its PTX.*accesses 8 bytes at"):
        launch(driver, address + offset)


def test_memory_of_others_or_that_was_freed_may_not_be_written(driver):
    others = np.zeros(3, np.uint64)
    address = driver.alloc(0, 24)
    driver.free(0, address)
    for place in (others.ctypes.data, address):
        with pytest.raises(PtxError, match=r"which are not all its own|there is no memory"):
            launch(driver, place)
    assert not others.any()


def test_a_stream_that_was_destroyed(driver):
    address, stream = driver.alloc(0, 8), driver.create_stream(0)
    launch(driver, address, stream)
    driver.destroy_stream(0, stream)
    with pytest.raises(CudaError, match="there is no stream"):
        launch(driver, address, stream)


GRIDS = [
    # the last launch that goes, and launches that do not
    ({"threads": (512, 2, 1)}, {"threads": (513, 2, 1)}, {"threads": (1025, 1, 1)}, {"threads": (1, 0, 1)}),
    ({"threads": (1, 1, 64)}, {"threads": (1, 1, 65)}),
    ({"blocks": (1, 3, 2)}, {"blocks": (2**31, 1, 1)}, {"blocks": (1, 2**16, 1)}, {"blocks": (1, 1, 2**16)}),
]


@pytest.fixture
def launches(driver):
    """A function that tells whether a kernel with 80 bytes of static shared memory can be launched."""
    function = driver.load_function(0, STATIC, "ep_kernel")

    def launch(blocks=(1, 1, 1), threads=(1, 1, 1), shared=0):
        try:
            driver.launch(0, function, blocks, threads, shared, 0, ParameterBlock(1))
        except CudaError as error:
            return error.code != 1
        return True

    launch.function = function
    return launch


@pytest.mark.parametrize("grids", GRIDS, ids=str)
def test_launches_that_no_gpu_takes_are_refused(launches, grids):
    assert [launches(**grid) for grid in grids] == [True] + [False] * (len(grids) - 1)


def test_shared_memory_with_and_without_the_opt_in(driver, launches):
    properties, static = driver.properties(0), driver.static_shared(0, launches.function)
    assert static == 80  # 66 before dynamic memory that is aligned to 16
    without = properties.shared_bytes_without_opt_in - static
    assert [launches(shared=without + more) for more in (0, 1)] == [True, False]
    most = properties.shared_bytes_per_block - static
    with pytest.raises(CudaError, match="CUDA_ERROR_INVALID_VALUE"):
        driver.opt_in_shared(0, launches.function, most + 1)
    driver.opt_in_shared(0, launches.function, most)
    assert [launches(shared=most + more) for more in (0, 1)] == [True, False]


def test_it_is_a_gpu_to_the_package(driver):
    properties = driver.properties(0)
    assert (properties.compute_capability, driver.loads_ptx) == ((9, 0), True)
    assert driver.max_active_blocks(0, None, 256) == 1
