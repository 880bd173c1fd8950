"""Order of the sections of the gallery, by what readers ask first."""

from pathlib import PurePath

SECTIONS = ("first_steps", "understanding", "missing_and_new", "large_data", "displays")


def by_question(folder: str) -> int:
    """Position of a folder of examples in the gallery."""
    return SECTIONS.index(PurePath(folder).name)
