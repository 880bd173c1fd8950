"""Make the pictures of docs/plotting.md: run the examples and save their figures.

python docs/displays.py
"""

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
DPI = 70


def main() -> None:
    mpl.use("agg")
    for example in sorted((DOCS.parent / "examples" / "displays").glob("plot_*.py")):
        runpy.run_path(str(example))
        picture = DOCS / "images" / f"{example.stem}.png"
        plt.savefig(picture, dpi=DPI, metadata={"Software": None})
        plt.close("all")
        print(picture.name)


if __name__ == "__main__":
    main()
