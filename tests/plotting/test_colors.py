"""Colors contrast with their background and tell methods apart."""

import pytest

from anchorview.experiments.jobs import METRICS
from anchorview.plotting.axes import OTHER_COLOR, OWN_COLOR, SERIES_COLORS, series_color


def contrast(one, other):
    def luminance(code):
        parts = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    low, high = sorted((luminance(one), luminance(other)))
    return high / low


@pytest.mark.parametrize("background", ["#ffffff", "#14181f"])
def test_colors_contrast_with_light_and_dark_pages(background):
    for code in (*SERIES_COLORS.values(), OTHER_COLOR, OWN_COLOR):
        assert contrast(code, background) >= 3


def test_colors_of_methods_are_unique_and_shared_by_the_oracle():
    methods = [*(name for name in SERIES_COLORS if name not in METRICS), "a method of a user"]
    assert len({series_color(name) for name in methods}) == len(methods)
    assert series_color("AMGL (oracle)") == series_color("AMGL") != series_color("DALMC (auto)")
