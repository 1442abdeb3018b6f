"""The threads that share the work of a launch."""

from ep.common.environment import check_compiler

check_compiler()
