"""Order of the sections of the gallery and of their examples, by what readers ask first."""

from pathlib import PurePath

SECTIONS = ("first_steps", "understanding", "missing_and_new", "omics", "large_data", "displays")
FIRST = ("plot_first_clusters.py", "plot_why_several_views.py")


def by_question(folder: str) -> int:
    """Position of a folder of examples in the gallery."""
    return SECTIONS.index(PurePath(folder).name)


class FirstThingsFirst:
    """Key by which the examples of a folder are sorted: the first ones, then figures by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[bool, int, str]:
        """Key of an example."""
        place = FIRST.index(filename) if filename in FIRST else len(FIRST)
        return (not filename.startswith("plot_"), place, filename)
