"""The errors of models."""


class ModelError(ValueError):
    """A file that is no ONNX model, or a model that contradicts itself. Nothing was computed."""


class UnsupportedError(NotImplementedError):
    """A model with operators or types that no operator of `ep.ops` serves. `reasons` has one line for each."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons
