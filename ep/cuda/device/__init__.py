"""The CUDA device: its streams, events, memory and what is reported of them."""
