"""Errors that say what to do, and estimators that a failed fit leaves as they were."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar

Args = ParamSpec("Args")
Estimator = TypeVar("Estimator")
Result = TypeVar("Result")


class DataFileError(ValueError):
    """A file of views that cannot be used; the message says what was found and what to do."""


class MissingPackageError(DataFileError, ImportError):
    """A file that needs an optional package; the message says how to install it."""


class OutputFileError(OSError):
    """A file that cannot be written; the message says why and what to do."""


class ClusterLostError(ConnectionError):
    """A Dask cluster that no longer computes; the message says why and what to do."""


@contextmanager
def errors_of(subject: str) -> Iterator[None]:
    """Have the messages of errors begin with what they are about, such as a view."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{subject}: {error}") from error


def optional_import(name: str, files: str, extra: str) -> Any:
    """Import an optional module that `files` (plural) need; the `extra` of anchorview has it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f'{files} need {name.partition(".")[0]}: pip install "anchorview[{extra}]".'
        ) from error


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
