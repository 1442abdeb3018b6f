"""The base of Python and compiled code: layouts, states and contexts."""
