"""PyTorch models on ep."""
