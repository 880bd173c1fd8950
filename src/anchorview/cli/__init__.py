"""The command ``anchorview``.

Imports everything public, lazily: ``--help`` must not wait for scikit-learn.
"""

from anchorview.cli.commands import main

__all__ = ["main"]
