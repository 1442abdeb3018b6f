"""What a process has to do before it asks for a device that runs of pytest have."""


def prepare(tag: str) -> None:
    """Let kernels of the CUDA device run from their PTX where there is no GPU, unless the simulator is asked for."""
    if tag == "cuda":
        from tests.cuda.ptx_machine.install import install_without_gpu

        install_without_gpu()
