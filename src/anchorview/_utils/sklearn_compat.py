"""Private names of scikit-learn; nothing else imports any."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import _get_output_config

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "fit_context",
    "output_container",
    "validate_parameter_constraints",
]


def output_container(estimator: object) -> str:
    """Container of the output of `transform`, as set by `set_output` or by the configuration."""
    return str(_get_output_config("transform", estimator)["dense"])
