"""Model files: the container format, and what a fitted estimator stores in it."""
