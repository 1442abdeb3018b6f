"""Sizes, axes and attributes of a node that contradict each other: an error, and no result.

Each error names the node and its argument, and has what came and what it must be; nothing is computed.
"""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ep.onnx


def f(*shape):
    return np.ones(shape, np.float32)


def i(*values):
    return np.array(values, np.int64)


def n(number):
    return np.array(number, np.int64)


RNN = {"hidden_size": 3}
CASES = [
    # axes
    *((op, 13, [f(2, 3)], {"axis": axis}, "axis") for op in ("ArgMax", "ArgMin", "Hardmax", "Softmax", "LogSoftmax")
      for axis in (2, -3)),
    *((op, 11, [f(2, 3)], {"axis": axis}, "axis") for op in ("Softmax", "LogSoftmax", "Flatten", "Hardmax")[:3]
      for axis in (3, -3)),
    *((op, 18, [f(2, 3), i(axis)], {}, "axes") for op in ("ReduceSum", "ReduceMax", "ReduceL2", "ReduceMean")
      for axis in (2, -3)),
    *((op, 11, [f(2, 3)], {"axes": [axis]}, "axes") for op in ("ReduceSum", "ReduceMax") for axis in (2, -3)),
    ("ReduceMax", 18, [f(), i(0)], {}, "axes"),
    *(("CumSum", 14, [f(2, 3), n(axis)], {}, "axis") for axis in (2, -3)),
    ("CumSum", 14, [f(2, 3), i(0, 1)], {}, "axis"),
    *(("LpNormalization", 22, [f(2, 3)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("Concat", 13, [f(2, 3), f(2, 3)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("Gather", 13, [f(2, 3), i(0)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("Split", 13, [f(2, 3)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("Compress", 11, [f(2, 3), np.array([True])], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("TopK", 11, [f(2, 3), i(1)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("OneHot", 11, [i(0, 1), n(3), f(2)], {"axis": axis}, "axis") for axis in (2, -3)),
    *(("Resize", 18, [f(2, 3), f(0), f(1)], {"axes": [axis]}, "axes") for axis in (2, -3)),
    # shapes
    ("Reshape", 14, [f(2, 3), i(-1, -1)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), i(-1, 4)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), i(-1, 0, 0)], {"allowzero": 1}, "shape"),
    ("Reshape", 14, [f(2, 3), i(2, 0)], {"allowzero": 1}, "shape"),
    ("Reshape", 14, [f(2, 3), i(2, 3, 0)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), i(5)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), i(-2, 3)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), i(-2, -3)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), n(6)], {}, "shape"),
    ("Reshape", 14, [f(2, 3), np.array([[2, 3]])], {}, "shape"),
    ("Reshape", 14, [f(0, 3), i(0, 0, -1)], {"allowzero": 1}, "shape"),
    ("Squeeze", 13, [f(1, 3), i(1)], {}, "axes"),
    ("Squeeze", 13, [f(1, 3), i(2)], {}, "axes"),
    ("Squeeze", 13, [f(1, 3), i(-3)], {}, "axes"),
    ("Squeeze", 13, [f(1, 1), i(0, -2)], {}, "axes"),
    ("Squeeze", 11, [f(1, 3)], {"axes": [2]}, "axes"),
    ("Unsqueeze", 13, [f(2, 3), i(0, 0)], {}, "axes"),
    ("Unsqueeze", 13, [f(2, 3), i(0, -4)], {}, "axes"),
    ("Unsqueeze", 13, [f(2, 3), i(3)], {}, "axes"),
    ("Unsqueeze", 13, [f(2, 3), i(-4)], {}, "axes"),
    ("Unsqueeze", 11, [f(2, 3)], {"axes": [0, 0]}, "axes"),
    ("Transpose", 13, [f(2, 3)], {"perm": [0, 0]}, "perm"),
    ("Transpose", 13, [f(2, 3)], {"perm": [0]}, "perm"),
    ("Transpose", 13, [f(2, 3)], {"perm": [0, 1, 2]}, "perm"),
    ("Transpose", 13, [f(2, 3)], {"perm": [0, -1]}, "perm"),
    ("Concat", 13, [f(2, 3), f(3, 3)], {"axis": 1}, "shape"),
    ("Concat", 13, [f(2, 3), f(1, 3)], {"axis": 1}, "shape"),
    ("Concat", 13, [f(2, 3), f(3)], {"axis": 0}, "inputs"),
    ("Concat", 13, [f(), f()], {"axis": 0}, "axis"),
    ("Expand", 13, [f(2, 3), i(4, 3)], {}, "shape"),
    ("Expand", 13, [f(2, 3), i(2, 0)], {}, "shape"),
    ("Expand", 13, [f(2, 3), i(-1, 3)], {}, "shape"),
    ("Expand", 13, [f(2, 3), n(3)], {}, "shape"),
    ("Tile", 13, [f(2, 3), i(2)], {}, "repeats"),
    ("Tile", 13, [f(2, 3), i(2, 1, 1)], {}, "repeats"),
    ("Tile", 13, [f(2, 3), i(2, -1)], {}, "repeats"),
    ("Tile", 13, [f(2, 3), n(2)], {}, "repeats"),
    ("Split", 13, [f(7, 3), i(3, 3)], {"outputs": 2}, "split"),
    ("Split", 13, [f(7, 3), i(3, 5)], {"outputs": 2}, "split"),
    ("Split", 13, [f(7, 3), i(9, -2)], {"outputs": 2}, "split"),
    ("Split", 13, [f(7, 3), i(3, 3, 1)], {"outputs": 2}, "split"),
    ("Split", 13, [f(7, 3)], {"outputs": 2}, "outputs"),
    ("Split", 11, [f(7, 3)], {"outputs": 2, "split": [3, 3]}, "split"),
    ("Split", 11, [f(7, 3)], {"outputs": 2}, "outputs"),
    ("Split", 18, [f(7, 3)], {"outputs": 2, "num_outputs": 3}, "num_outputs"),
    ("Split", 18, [f(7, 3)], {"outputs": 1, "num_outputs": 0}, "num_outputs"),
    ("Split", 18, [f(2, 3)], {"outputs": 4, "num_outputs": 4}, "num_outputs"),
    ("Split", 18, [f(2, 3), i(1, 1)], {"outputs": 2, "num_outputs": 2}, "num_outputs"),
    ("Split", 18, [f(), i(1)], {}, "axis"),
    ("Slice", 13, [f(5, 3), i(0, 0), i(1)], {}, "ends"),
    ("Slice", 13, [f(5, 3), i(0), i(1), i(0, 1)], {}, "axes"),
    ("Slice", 13, [f(5, 3), i(0), i(1), i(0), i(1, 1)], {}, "steps"),
    ("Slice", 13, [f(5, 3), i(0, 0), i(1, 1), i(0, 0)], {}, "axes"),
    ("Slice", 13, [f(5, 3), i(0, 0), i(1, 1), i(0, -2)], {}, "axes"),
    ("Slice", 13, [f(5, 3), i(0), i(1), i(2)], {}, "axes"),
    ("Slice", 13, [f(5, 3), i(0), i(1), i(-3)], {}, "axes"),
    ("Slice", 13, [f(5, 3), i(0), i(1), i(0), i(0)], {}, "steps"),
    ("Slice", 13, [f(5), i(0, 0), i(1, 1)], {}, "starts"),
    ("Slice", 13, [f(5), n(0), n(1)], {}, "starts"),
    ("Slice", 9, [f(5, 3)], {"starts": [0, 0], "ends": [1]}, "ends"),
    ("Slice", 9, [f(5, 3)], {"starts": [0], "ends": [1], "axes": [2]}, "axes"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1)], {}, "pads"),
    ("Pad", 18, [f(2, 3), i(1, 1)], {}, "pads"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1, 1, 1, 1)], {}, "pads"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1, 1), f(), i(0)], {}, "pads"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1, 1), f(), i(0, 0)], {}, "axes"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1, 1), f(), i(0, -2)], {}, "axes"),
    ("Pad", 18, [f(2, 3), i(1, 1), f(), i(2)], {}, "axes"),
    ("Pad", 18, [f(2, 3), i(1, 1), f(), i(-3)], {}, "axes"),
    ("Pad", 18, [f(2, 3), i(1, 1, 1, 1), f(2)], {}, "constant_value"),
    *(("Pad", 19, [f(2, 3), i(0, pads[0], 0, pads[1])], {"mode": mode}, "pads") for pads in ((-4, 0), (-2, -2))
      for mode in ("constant", "edge", "reflect", "wrap")),
    *(("Pad", 19, [f(2, 0), i(0, 1, 0, 0)], {"mode": mode}, "pads") for mode in ("reflect", "edge", "wrap")),
    ("Pad", 7, [f(2, 3)], {"pads": [1, 1]}, "pads"),
    ("Trilu", 14, [f(3)], {}, "axes"),
    ("Trilu", 14, [f(2, 3), i(1, 2)], {}, "k"),
    ("EyeLike", 9, [f(3)], {}, "axes"),
    ("EyeLike", 9, [f(2, 3, 2)], {}, "axes"),
    ("Range", 11, [n(0), n(5), n(0)], {}, "delta"),
    ("Range", 11, [i(0, 1), n(5), n(1)], {}, "start"),
    ("ConstantOfShape", 9, [i(2, -1)], {}, "input"),
    ("ConstantOfShape", 9, [np.array([[2, 1]])], {}, "input"),
    ("DepthToSpace", 13, [f(1, 6, 2, 3)], {"blocksize": 2}, "blocksize"),
    ("DepthToSpace", 13, [f(1, 4, 2, 3)], {"blocksize": 0}, "blocksize"),
    ("DepthToSpace", 13, [f(4, 2, 3)], {"blocksize": 2}, "axes"),
    ("SpaceToDepth", 13, [f(1, 2, 3, 4)], {"blocksize": 2}, "blocksize"),
    ("SpaceToDepth", 13, [f(1, 2, 4, 3)], {"blocksize": 2}, "blocksize"),
    ("SpaceToDepth", 13, [f(1, 2, 4, 4)], {"blocksize": -2}, "blocksize"),
    ("SpaceToDepth", 13, [f(2, 4, 4)], {"blocksize": 2}, "axes"),
    # indices
    ("GatherElements", 13, [f(2, 3), n(0)], {}, "indices"),
    ("GatherElements", 13, [f(2, 3), i(0)], {}, "indices"),
    ("GatherElements", 13, [f(2, 3), np.zeros((1, 4), int)], {}, "indices"),
    ("GatherElements", 13, [f(2, 3), np.zeros((3, 1), int)], {"axis": 1}, "indices"),
    ("GatherElements", 13, [f(2, 3), np.zeros((1, 1), int)], {"axis": 2}, "axis"),
    ("GatherElements", 13, [f(), n(0)], {}, "axis"),
    ("GatherND", 13, [f(2, 3), np.zeros((2, 3), int)], {}, "indices"),
    ("GatherND", 13, [f(2, 3), n(0)], {}, "indices"),
    ("GatherND", 13, [f(2, 3), np.zeros((3, 1), int)], {"batch_dims": 1}, "indices"),
    ("GatherND", 13, [f(2, 3), np.zeros((2, 2), int)], {"batch_dims": 1}, "indices"),
    ("GatherND", 13, [f(2, 3), np.zeros((2, 1), int)], {"batch_dims": 2}, "batch_dims"),
    ("GatherND", 13, [f(2, 3), np.zeros((2, 1), int)], {"batch_dims": -1}, "batch_dims"),
    *((op, 16, [f(2, 3), *rest], attributes, words) for op in ("ScatterElements", "Scatter")[:1]
      for rest, attributes, words in (
          ([np.zeros((1, 1), int), f(1, 1)], {"axis": 2}, "axis"),
          ([np.zeros((1, 1), int), f(1, 1)], {"axis": -3}, "axis"),
          ([np.zeros((1, 1), int), f(1, 2)], {}, "updates"),
          ([np.zeros((1, 2), int), f(2, 1)], {}, "updates"),
          ([np.zeros((1, 2), int), f(2)], {}, "updates"),
          ([i(0), f(1)], {}, "indices"),
          ([n(0), f()], {}, "indices"),
          ([np.zeros((1, 4), int), f(1, 4)], {}, "indices"),
          ([np.zeros((3, 1), int), f(3, 1)], {"axis": 1}, "indices"))),
    ("Scatter", 9, [f(2, 3), np.zeros((1, 1), int), f(1, 1)], {"axis": 2}, "axis"),
    ("ScatterND", 18, [f(2, 3), np.zeros((2, 3), int), f(2)], {}, "indices"),
    ("ScatterND", 18, [f(2, 3), n(0), f()], {}, "indices"),
    ("ScatterND", 18, [f(2, 3), np.zeros((2, 1), int), f(2, 2)], {}, "updates"),
    ("ScatterND", 18, [f(2, 3), np.zeros((2, 1), int), f(3, 2)], {}, "updates"),
    ("ScatterND", 18, [f(2, 3), np.zeros((2, 1), int), f(6)], {}, "updates"),
    ("ScatterND", 18, [f(2, 3), np.zeros((2, 2), int), f(1)], {}, "updates"),
    ("OneHot", 11, [i(0, 1), n(-1), f(2)], {}, "depth"),
    ("OneHot", 11, [i(0, 1), i(2, 3), f(2)], {}, "depth"),
    ("OneHot", 11, [i(0, 1), n(3), f(3)], {}, "values"),
    ("OneHot", 11, [i(0, 1), n(3), f(1)], {}, "values"),
    ("OneHot", 11, [i(0, 1), n(3), f(2, 1)], {}, "values"),
    ("Compress", 11, [f(2, 3), np.array([True, False, True])], {"axis": 0}, "condition"),
    ("Compress", 11, [f(2, 3), np.ones(7, bool)], {}, "condition"),
    ("Compress", 11, [f(2, 3), np.ones((2, 1), bool)], {"axis": 0}, "condition"),
    ("TopK", 11, [f(2, 3), i(4)], {}, "k"),
    ("TopK", 11, [f(2, 3), i(-1)], {}, "k"),
    ("TopK", 11, [f(2, 3), i(1, 1)], {}, "k"),
    ("TopK", 11, [f(), i(1)], {}, "axis"),
    ("ReverseSequence", 10, [f(4, 2), i(4, 5)], {}, "sequence_lens"),
    ("ReverseSequence", 10, [f(4, 2), i(4, -1)], {}, "sequence_lens"),
    ("ReverseSequence", 10, [f(4, 2), i(4, 4, 4)], {}, "sequence_lens"),
    ("ReverseSequence", 10, [f(4, 2), i(4)], {}, "sequence_lens"),
    ("ReverseSequence", 10, [f(4, 2), i(1, 1)], {"batch_axis": 0, "time_axis": 0}, "time_axis"),
    ("ReverseSequence", 10, [f(4, 2), i(1, 1)], {"batch_axis": 1, "time_axis": 2}, "time_axis"),
    ("ReverseSequence", 10, [f(4), i(1, 1)], {}, "axes"),
    # products
    ("MatMul", 13, [f(2, 3), f(2, 3)], {}, "3"),
    ("MatMul", 13, [f(2, 3), f(2)], {}, "3"),
    ("MatMul", 13, [f(2, 3), f()], {}, "axes"),
    ("MatMul", 13, [f(2, 2, 3), f(3, 3, 1)], {}, "3"),
    ("Gemm", 13, [f(2, 3), f(2, 4)], {}, "3"),
    ("Gemm", 13, [f(2, 3), f(3, 4), f(3, 4)], {}, "C"),
    ("Gemm", 13, [f(2, 3), f(3, 4), f(2)], {}, "C"),
    ("Gemm", 13, [f(1, 3), f(3, 4), f(2, 4)], {}, "C"),
    ("Gemm", 13, [f(2, 3), f(3, 4), f(1, 2, 4)], {}, "C"),
    ("Gemm", 13, [f(1, 2, 3), f(3, 4)], {}, "A"),
    ("Gemm", 13, [f(3), f(3, 4)], {}, "A"),
    ("Gemm", 13, [f(2, 3), f(1, 3, 4)], {}, "B"),
    *(("BatchNormalization", 15, [f(2, 3, 4), *(f(*(shape if j == k else (3,))) for j in range(4))], {}, name)
      for k, name in enumerate(("scale", "B", "input_mean", "input_var")) for shape in ((1,), (4,), (3, 1), ())),
    *(("InstanceNormalization", 7, [f(2, 3, 4), *(f(*(shape if j == k else (3,))) for j in range(2))], {}, name)
      for k, name in enumerate(("scale", "B")) for shape in ((1,), (4,), (3, 1))),
    ("Einsum", 12, [f(2, 3), f(2, 3)], {"equation": "ij,jk->ik"}, "j"),
    ("Einsum", 12, [f(2, 3)], {"equation": "ijk->i"}, "equation"),
    ("Einsum", 12, [f(2, 3)], {"equation": "ij,jk->ik"}, "equation"),
    ("Einsum", 12, [f(2, 3)], {"equation": "ij->ik"}, "equation"),
    ("Einsum", 12, [f(2, 3)], {"equation": "ii->i"}, "i"),
    # windows
    ("Conv", 11, [f(1, 3, 5), f(2, 2, 3)], {}, "W"),
    ("Conv", 11, [f(1, 4, 5), f(2, 2, 3)], {"group": 3}, "group"),
    ("Conv", 11, [f(1, 4, 5), f(3, 2, 3)], {"group": 2}, "group"),
    ("Conv", 11, [f(1, 4, 5), f(2, 4, 3)], {"group": 0}, "group"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"kernel_shape": [2]}, "kernel_shape"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"kernel_shape": [3, 3]}, "kernel_shape"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"strides": [1, 1]}, "strides"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"strides": [0]}, "strides"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"dilations": [0]}, "dilations"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"pads": [1]}, "pads"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3)], {"pads": [1, 1, 1, 1]}, "pads"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3), f(3)], {}, "B"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3), f(1)], {}, "B"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3), f(2, 1)], {}, "B"),
    ("Conv", 11, [f(1, 3, 5), f(2, 3, 3, 3)], {}, "W"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(2, 2, 3)], {}, "W"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"kernel_shape": [2]}, "kernel_shape"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3), f(1)], {}, "B"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3), f(4)], {}, "B"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"strides": [1, 1]}, "strides"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"pads": [1]}, "pads"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"pads": [4, 4]}, "pads"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"output_shape": [5, 5]}, "output_shape"),
    ("ConvTranspose", 11, [f(1, 3, 5), f(3, 2, 3)], {"output_padding": [1, 1]}, "output_padding"),
    *((op, 11, [f(1, 3, 5)], {"kernel_shape": [2], **one}, word)
      for op in ("MaxPool", "AveragePool", "LpPool")
      for one, word in (({"kernel_shape": [2, 2]}, "kernel_shape"), ({"strides": [0]}, "strides"),
                        ({"strides": [1, 1]}, "strides"), ({"pads": [1]}, "pads"),
                        ({"kernel_shape": [0]}, "kernel_shape"))),
    ("LRN", 13, [f(2)], {"size": 3}, "X"),
    ("LRN", 13, [f(1, 3, 2)], {"size": 0}, "size"),
    ("GlobalAveragePool", 13, [f(3)], {}, "X"),
    ("GlobalMaxPool", 13, [f()], {}, "X"),
    # others
    ("BatchNormalization", 15, [f(), f(1), f(1), f(1), f(1)], {}, "X"),
    ("PRelu", 16, [f(3), f(2, 3)], {}, "slope"),
    ("PRelu", 16, [f(2, 3), f(2)], {}, "slope"),
    ("Add", 14, [f(2, 3), f(4, 3)], {}, "broadcast"),
    ("Where", 16, [np.ones((2, 3), bool), f(2, 3), f(4, 3)], {}, "broadcast"),
    ("Sum", 13, [f(2), f(3)], {}, "broadcast"),
    ("Resize", 19, [f(2, 3), None, np.float32([1, 2]), i(4, 4)], {}, "scales and sizes"),
    ("Resize", 19, [f(2, 3), f(3), np.float32([1, 2])], {}, "roi"),
    ("Resize", 19, [f(2, 3), None, np.float32([1])], {}, "scales"),
    ("Resize", 19, [f(2, 3), None, None, i(1, 2, 3)], {}, "scales"),
    ("Resize", 19, [f(2, 3)], {}, "scales"),
    ("Upsample", 9, [f(2, 3), np.float32([2])], {}, "scales"),
    *((op, 13, [f()], {"axis": axis}, "axis") for op in ("ArgMax", "Hardmax", "Concat", "Split")
      for axis in (0, -1)),
    ("Clip", 13, [f(2, 3), f(2, 1)], {}, "min"),
    ("Clip", 13, [f(3), None, f(2, 3)], {}, "max"),
    *((op, 13, [f(), i(0)], {}, "axis") for op in ("Gather", "CumSum", "TopK")),
    # recurrent
    *((op, 14, given, attributes, word) for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))
      for given, attributes, word in (
          ([f(5, 2, 4), f(1, 3 * gates, 5), f(1, 3 * gates, 3)], RNN, "W"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 4)], RNN, "R"),
          ([f(5, 2, 4), f(1, 3 * gates + 1, 4), f(1, 3 * gates, 3)], RNN, "W"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates - 1, 3)], RNN, "R"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3)], {"hidden_size": 4}, "hidden_size"),
          ([f(5, 2, 4), f(2, 3 * gates, 4), f(1, 3 * gates, 3)], RNN, "W"),
          ([f(5, 2, 4), f(2, 3 * gates, 4), f(2, 3 * gates, 3)], RNN, "W"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3)], {**RNN, "direction": "bidirectional"}, "W"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), f(1, 3 * gates)], RNN, "B"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), f(6 * gates)], RNN, "B"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, np.int32([5])], RNN, "sequence_lens"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, np.int32([5, 5, 5])], RNN, "sequence_lens"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, np.int32([5, 6])], RNN, "sequence_lens"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, np.int32([5, -1])], RNN, "sequence_lens"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, None, f(1, 1, 3)], RNN, "initial_h"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, None, f(2, 2, 3)], RNN, "initial_h"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, None, f(1, 2, 1)], RNN, "initial_h"),
          ([f(5, 2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3), None, None, f(1, 2, 3)], {**RNN, "layout": 1},
           "initial_h"),
          ([f(2, 4), f(1, 3 * gates, 4), f(1, 3 * gates, 3)], RNN, "X"))),
    ("LSTM", 14, [f(5, 2, 4), f(1, 12, 4), f(1, 12, 3), None, None, None, f(1, 1, 3)], RNN, "initial_c"),
    *(("LSTM", 14, [f(5, 2, 4), f(1, 12, 4), f(1, 12, 3), None, None, None, None, f(*shape)], RNN, "P")
      for shape in ((1, 3), (1, 12), (9,), (2, 9))),
    # nothing to compute with
    ("GatherND", 13, [f(2, 3), np.zeros((2, 0), int)], {}, "indices of shape"),
    ("GatherND", 13, [f(2, 3), np.zeros((2, 0), int)], {"batch_dims": 1}, "indices of shape"),
    *((op, 13, [f(2, 0)], {"axis": 1, "keepdims": keep}, r"data has shape \(2, 0\); it must have elements along axis 1")
      for op in ("ArgMax", "ArgMin") for keep in (0, 1)),
    ("GlobalMaxPool", 13, [f(1, 2, 3, 0)], {}, r"X has shape \(1, 2, 3, 0\); it must have elements along axis 3"),
    # windows
    *(("LpPool", 18, [f(1, 2, 5)], {"kernel_shape": [2], "p": p}, f"p is {p}; it must be 1 or more") for p in (0, -1)),
    *((op, 18, [f(1, 2)], {"kernel_shape": [2]}, "X has shape .* at least 3 axes")
      for op in ("MaxPool", "AveragePool", "LpPool")),
    *((op, 18, [f(1, 2, 3)], {"kernel_shape": [kernel], **more}, rf"kernel_shape is \[{kernel}\]; .* \(3,\)")
      for op in ("MaxPool", "AveragePool", "LpPool")
      for kernel, more in ((5, {}), (7, {"pads": [1, 1]}), (3, {"dilations": [3]}), (9, {"ceil_mode": 1}),
                           (5, {"auto_pad": "VALID"}), (7, {"strides": [3]}))
      if op != "AveragePool" or "dilations" not in more),
    *(("Conv", 18, [f(1, 2, 3, 7), f(3, 2, *kernel)], more, "kernel_shape is .*; .*fit")
      for kernel, more in (((4, 2), {}), ((2, 8), {}), ((2, 9), {"strides": [1, 5]}), ((6, 1), {"pads": [1, 0, 1, 0]}),
                           ((4, 2), {"auto_pad": "VALID"}), ((2, 2), {"dilations": [3, 1]}))),
    # axes
    *((op, opset, [f(1, 3, 1), np.array([[0, 2]])], {}, r"axes has shape \(1, 2\); it must have one axis")
      for op, opset in (("ReduceSum", 13), ("ReduceMax", 18), ("ReduceMean", 18), ("Squeeze", 13), ("Unsqueeze", 13))),
    # heads, and numbers of keys
    *(("Attention", 24, [f(2, 2, 3, 5), f(2, 2, 7, 5), f(2, 2, 7, 5), None, None, None, i(*counts)], {},
       rf"indices\[{place}\] is {counts[place]}; .* 0 \.\.\. 7")
      for counts, place in (((8, 2), 0), ((7, -1), 1), ((-7, 0), 0), ((0, 2**62), 1))),
    *(("Attention", 23, [f(1, 4, 3, 5), f(1, 2, 7, 5), f(1, 2, 7, 5)], {name: count}, name)
      for name, count in (("q_num_heads", 2), ("kv_num_heads", 4), ("kv_num_heads", 1), ("q_num_heads", -1))),
]  # fmt: skip


def model_of(name, opset, inputs, attributes, known):
    """Return a model of one node, and its inputs. known: whether all inputs but the first are constants."""
    attributes = dict(attributes)
    outputs = [f"y{k}" for k in range(attributes.pop("outputs", 2 if name == "TopK" else 1))]
    given = {f"i{k}": one for k, one in enumerate(inputs) if one is not None}
    held = {key: one for key, one in given.items() if known and key != "i0"}
    names = [f"i{k}" if one is not None else "" for k, one in enumerate(inputs)]
    node = helper.make_node(name, names, outputs, "the node", **attributes)
    infos = [
        helper.make_tensor_value_info(
            key, helper.np_dtype_to_tensor_dtype(one.dtype), [f"{key} {k}" for k in range(one.ndim)]
        )
        for key, one in given.items()
        if key not in held
    ]
    results = [helper.make_tensor_value_info(key, TensorProto.FLOAT, None) for key in outputs]
    tensors = [numpy_helper.from_array(one, key) for key, one in held.items()]
    graph = helper.make_graph([node], "g", infos, results, tensors)
    left = {key: one for key, one in given.items() if key not in held}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), left


def shown(case):
    name, opset, inputs, attributes, word = case
    sizes = " ".join(
        "none" if one is None else str(one.tolist() if one.dtype == int and one.size < 5 else one.shape)
        for one in inputs
    )
    return f"{name}-{opset} {sizes} {attributes} {word}"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("case", CASES, ids=shown)
def test_contradictions(case, known):
    name, opset, inputs, attributes, word = case
    given, left = model_of(name, opset, inputs, attributes, known)
    model = ep.onnx.load(given)
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, IndexError)) as caught:
            model.run(None, left)
        assert re.search(rf"\b{word}", str(caught.value), re.IGNORECASE), str(caught.value)
        assert f"in node 'the node' ({name})" in caught.value.__notes__


@pytest.mark.parametrize("wrong", ["scale", "B", "input_mean", "input_var", "bias"])
@pytest.mark.parametrize("size", [1, 3])
def test_contradictions_in_what_is_merged_with_a_convolution(wrong, size):
    """The filters of a Conv take up a BatchNormalization after it only if their sizes fit."""
    sizes = {name: (size if name == wrong else 2,) for name in ("bias", "scale", "B", "input_mean", "input_var")}
    tensors = [numpy_helper.from_array(f(2, 3, 3), "w")]
    tensors += [numpy_helper.from_array(f(*shape), name) for name, shape in sizes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "bias"], ["c"], "conv"),
        helper.make_node("BatchNormalization", ["c", *list(sizes)[1:]], ["y"], "norm"),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["a", "b", "c"]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors)
    model = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]))
    with pytest.raises(ValueError, match=rf"\b{wrong} (of|has) shape") as caught:
        model(x=f(1, 3, 5))
    assert f"in node {'conv' if wrong == 'bias' else 'norm'!r}" in caught.value.__notes__[0]


def test_a_node_without_outputs():
    """All outputs of an LSTM are optional."""
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], [], hidden_size=2), helper.make_node("Neg", ["x"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["a", "b", "c"]) for name in "xy"]
    tensors = [numpy_helper.from_array(one, name) for name, one in (("w", f(1, 8, 4)), ("r", f(1, 8, 2)))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors)
    (y,) = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))(x=f(3, 2, 4))
    np.testing.assert_array_equal(y, -f(3, 2, 4))
