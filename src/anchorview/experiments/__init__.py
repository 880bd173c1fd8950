"""Experiments: many fits, each a job in its own process, and their evaluation.

Each package may import those before it: ``plan`` (what to run), ``run`` (how), ``results`` (what
came out), ``output`` (tables, figures and pages).
"""
