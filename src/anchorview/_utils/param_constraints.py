"""Constraints of parameters that several estimators share, in scikit-learn's form."""

from collections.abc import Sequence
from numbers import Integral, Real

from anchorview._utils.sklearn_compat import Interval

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
