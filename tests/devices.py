"""The setup of a process that uses the devices of runs of pytest."""


def prepare(tag: str) -> bool:
    """Let kernels of the CUDA device run from their PTX if there is no GPU; return whether they do."""
    if tag != "cuda":
        return False
    from tests.cuda.ptx_machine.install import install_without_gpu

    return install_without_gpu()
