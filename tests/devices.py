"""The setup of a process that uses the devices of runs of pytest."""

DEVIATIONS = {"exact": 0, "above": 1, "below": -1}
"""The results of instructions that a GPU approximates, from PTX: exact ones, or those at a bound of the errors."""


def prepare(tag: str, approximations: str = "exact") -> bool:
    """Let kernels of the CUDA device run from their PTX if there is no GPU; return whether they do.

    approximations: one of DEVIATIONS.
    """
    if tag != "cuda":
        return False
    from tests.cuda.ptx_machine.install import install_without_gpu

    is_there = install_without_gpu()
    if is_there and DEVIATIONS[approximations]:
        from ep.cuda.driver.current import driver

        driver().deviation = DEVIATIONS[approximations]
    return is_there
