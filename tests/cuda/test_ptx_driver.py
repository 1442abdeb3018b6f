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


def test_it_is_a_gpu_to_the_package(driver):
    properties = driver.properties(0)
    assert (properties.compute_capability, driver.loads_ptx) == ((9, 0), True)
    assert driver.max_active_blocks(0, None, 256) == 1
