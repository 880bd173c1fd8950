"""Displays of fitted models with matplotlib, in the convention of scikit-learn.

This package owns the displays, and what they share with pages and experiments: descriptions of
charts, colors, the layout of maps and all drawing with matplotlib. Matplotlib is optional and
imported when something is drawn.
"""
