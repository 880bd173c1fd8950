"""Estimators that a failed fit leaves as they were."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Args = ParamSpec("Args")
Estimator = TypeVar("Estimator")
Result = TypeVar("Result")


def restored_on_error(
    method: Callable[Concatenate[Estimator, Args], Result],
) -> Callable[Concatenate[Estimator, Args], Result]:
    """Let a method that raises, or is interrupted, leave all attributes as they were before.

    Otherwise a fitted estimator would keep the solution of one fit and the preprocessing of another
    one that was refused, and label new samples wrongly.
    """

    @wraps(method)
    def wrapper(estimator: Estimator, /, *args: Args.args, **kwargs: Args.kwargs) -> Result:
        before = dict(vars(estimator))
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return wrapper
