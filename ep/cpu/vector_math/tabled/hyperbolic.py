"""asinh, acosh and atanh in float64 by tables."""

from ep.cpu.vector_math.hyperbolic import area_functions
from ep.cpu.vector_math.tabled.logarithm import log_sum

asinh, acosh, atanh = area_functions(log_sum)
