"""Recordings of launches, and the lists of launches that repeat them in one call."""
