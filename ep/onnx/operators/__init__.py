"""ONNX's operators, as compositions of the functions of `ep.ops`, one after another or none at all."""
