"""Candidates of AutoDALMC that cannot be fitted."""

from anchorview.estimators.partitions.candidates import Directions, OfNeighbors


def make_candidates_fail(monkeypatch, condition, error):
    """Let candidates raise an error if their setting meets a condition."""
    for kind in (Directions, OfNeighbors):

        def may_fail(setting, *args, fit=kind.fit):
            if condition(setting):
                raise error
            return fit(setting, *args)

        monkeypatch.setattr(kind, "fit", may_fail)
