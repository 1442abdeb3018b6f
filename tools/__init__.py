"""Programs that maintain the repository."""
