"""ONNX's operators, as compositions of functions of `ep.ops`."""
