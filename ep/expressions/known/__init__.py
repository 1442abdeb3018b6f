"""What blocks know of earlier ones: records of operators and views, and compiled methods that read them."""
