"""Plans on disk, of models and of other graphs: what is kept, and when it is found again."""
