"""Colors of the charts, for light and dark pages alike."""

CLUSTERS = (
    "#0078b4",
    "#f0a800",
    "#b43000",
    "#cca8fc",
    "#60a89c",
    "#c07824",
    "#7884fc",
    "#84486c",
    "#60cc84",
    "#b4606c",
    "#6c90c0",
    "#2454c0",
    "#186c30",
    "#84c0c0",
    "#90a860",
    "#b44890",
    "#903090",
    "#486cd8",
    "#f08424",
    "#909ce4",
)
"""Chosen one by one, each as far as possible from those before it for people with normal sight,
without the red and without the green cones, among colors that stand out from white and black."""

MAIN = CLUSTERS[0]
"""Of what needs no color to be told apart."""

SECOND = CLUSTERS[1]
"""Of what stands out beside the main one."""

LOW, HIGH = (233, 238, 244), (0, 74, 124)
"""Ends of the scale of heat maps."""


def cluster_color(cluster: int) -> str:
    """Color of a cluster; they come round again when there are more clusters than colors."""
    return CLUSTERS[cluster % len(CLUSTERS)]


def scale(steps: int = 64) -> list[str]:
    """Colors from low to high."""
    shares = [step / (steps - 1) for step in range(steps)]
    mixed = (
        [round(low + share * (high - low)) for low, high in zip(LOW, HIGH, strict=True)]
        for share in shares
    )
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed]
