"""The primitives' mathematics on the host: shapes, strides, units of movement. Nothing here needs a device."""
