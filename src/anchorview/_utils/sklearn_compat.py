"""The only place that imports names which scikit-learn does not promise to keep."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions", "fit_context"]
