"""Private names of scikit-learn, which nothing else imports, and constraints of parameters."""

from collections.abc import Sequence
from numbers import Integral, Real

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
    "validate_parameter_constraints",
]

ParameterConstraints = dict[str, Sequence[object]]
"""Type of an estimator's ``_parameter_constraints``."""

POSITIVE_INT = Interval(Integral, 1, None, closed="left")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")

N_CLUSTERS = [Interval(Integral, 2, None, closed="left")]
MAX_ITER = [POSITIVE_INT]
TOL = [NON_NEGATIVE]
N_INIT = [POSITIVE_INT]
RANDOM_STATE = ["random_state"]
VERBOSE = ["verbose"]


def output_container(estimator: object) -> str:
    """Container of the output of `transform`, as set by `set_output` or by the configuration."""
    return str(_get_output_config("transform", estimator)["dense"])
