"""Functors: the meaning of every UnaryOp and BinaryOp on one element, written once for all devices.

`lookup` finds the functor of an op.
"""
