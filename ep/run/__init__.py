"""Plans, which say what a call computes. Operators, fused functions and models are made of them."""
