"""Vectors of sentences, by a real model: MiniLM-L6, a BERT of 6 layers, computed by launches of primitives."""
