"""Bytes over a walk, moved by unit, whatever their type: Expand and Gather."""
