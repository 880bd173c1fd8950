"""Colors of methods and metrics, the same in all figures and on the report page.

All differ in hue for people with any kind of color vision as far as that many can, and stand out
from white and from dark pages (contrast 3 and more). Where it matters which is which, figures say
it by names, marks or dashes too.
"""

PALETTE = {
    "DALMC": "#D55E00",
    "DALMC (auto)": "#0072B2",
    "AMGL": "#4C86B8",
    "BMVC": "#8F7A00",
    "SMVSC": "#009E73",
    "OPMC": "#AA4499",
    "UOMVSC": "#A0526E",
    "FPMVS-CAG": "#2A9D9D",
    "OMSC": "#7A6FBE",
    "AWMVC": "#8A6D4B",
    "ablation-1": "#CC79A7",
    "ablation-2": "#6E8B3D",
    "ACC": "#0072B2",
    "NMI": "#D55E00",
    "F1": "#009E73",
    "Purity": "#AA4499",
    "ARI": "#8F7A00",
}
"""Colors by the names of columns and metrics."""

OTHER = "#7F7F7F"
"""Color of everything else, such as a baseline."""


def color(name: str) -> str:
    """Color of a column or a metric; a method that was tuned with labels keeps its own.

    Examples
    --------
    >>> color("AMGL (oracle)") == color("AMGL")
    True
    """
    return PALETTE.get(name.removesuffix(" (oracle)"), OTHER)
