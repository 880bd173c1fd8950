"""Experiments: many fits, each a job in its own process, and what came out of them."""
