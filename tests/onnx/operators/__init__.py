"""A systematic test of ONNX's operators: a record for each of them says how its cases are drawn, and what each gives.

Expected values are computed from the text of the operator, in float64 or in integers, by NumPy alone: not by the
package, and not by ONNX's function bodies or its reference evaluator, which have mistakes of their own.

To add an operator, add its record to the file of its family: `test_operators.py` has every version and every type of
it then, and `python -m tests.stress --only operators` draws it, too.
"""
