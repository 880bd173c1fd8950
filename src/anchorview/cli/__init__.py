"""The command ``anchorview``: arguments, terminal output, and the order of the steps.

May import everything; nothing imports it. Modules that need NumPy or scikit-learn are imported
inside functions, so that ``--help`` answers at once: scikit-learn takes seconds to import.
"""

from anchorview.cli.commands import main

__all__ = ["main"]
