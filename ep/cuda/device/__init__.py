"""The CUDA device: its streams, events, memory and reports."""
