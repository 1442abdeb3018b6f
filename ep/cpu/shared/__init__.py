"""The data shared by Python and compiled code: states and contexts."""
