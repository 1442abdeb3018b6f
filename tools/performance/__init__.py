"""What `python -m tools.performance_table` writes: pages, figures and a picture."""
