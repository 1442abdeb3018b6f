"""What Python and compiled code share: layouts, states and contexts."""
