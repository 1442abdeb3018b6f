"""Host-side mathematics of the primitives: shapes, strides, movement units. Nothing here needs a device."""
