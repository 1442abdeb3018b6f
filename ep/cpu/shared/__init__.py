"""The data shared by Python and compiled code: layouts, states and contexts."""
