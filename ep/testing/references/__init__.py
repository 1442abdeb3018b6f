"""Naive references, which share no code with the package."""
