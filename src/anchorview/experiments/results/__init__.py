"""Results by suite, data set and method: scores, significance, published numbers."""
