"""What a process has to do before it asks for a device that runs of pytest have."""


def prepare(tag: str) -> bool:
    """Let kernels of the CUDA device run from their PTX if there is no GPU. Whether they do."""
    if tag != "cuda":
        return False
    from tests.cuda.ptx_machine.install import install_without_gpu

    return install_without_gpu()
