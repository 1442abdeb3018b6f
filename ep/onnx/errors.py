"""The errors of models."""


class ModelError(ValueError):
    """Raised for a file that is not an ONNX model, or an inconsistent model, before anything is computed."""


class UnsupportedError(NotImplementedError):
    """Raised for a model with unsupported operators or types. `reasons` has one line for each."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons
