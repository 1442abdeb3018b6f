"""The engines of the CPU's primitives (map, move, reduce, product), and the check of launches.

README.md has the sketch.
"""
