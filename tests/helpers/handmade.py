"""Entries and results made by hand, for tests of tables, figures and pages."""

from itertools import count

from anchorview.experiments.evaluation import evaluated
from anchorview.experiments.inputs import DataSet
from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.plan import Entry

ODD = 'a|b & c_d 50% #1 <b>"x" $y$'


def done(runs, **rest):
    """Result with the same runs of all metrics."""
    scores = {metric: tuple(runs) for metric in METRICS}
    return Result("done", scores=scores, returned=dict.fromkeys(METRICS, max(runs)), **rest)


def around(mean, n=20, step=0.001):
    """Runs with a mean, all different."""
    return [mean + step * (i - (n - 1) / 2) for i in range(n)]


class Book:
    """Entries with their results; each has a job of its own."""

    def __init__(self, *names, published_as=None):
        self.sets = [
            DataSet(name, None, 120, 3, (5, 4), f"digest of {name}", published_as)
            for name in names or ("digits",)
        ]
        self.entries, self.results = [], {}
        self._seeds = count()

    def add(self, column, result, data=None, mode="default", suite="compare", point=None, **how):
        data = data or self.sets[0].name
        job = Job.of(data, "dalmc", how, seed=next(self._seeds))
        self.entries.append(Entry(suite, data, column, mode, point, job))
        if result is not None:
            self.results[job.key(f"digest of {data}")] = result

    def frame(self):
        digests = {one.name: one.digest for one in self.sets}
        return evaluated(self.entries, self.results, digests)


def whole_book(*names, published_as=None):
    """All suites, filled."""
    book = Book(*names, published_as=published_as)
    for one in book.sets:
        for number, method in enumerate(("AMGL", "FPMVS-CAG", "DALMC")):
            score = around(0.6 + 0.1 * number)
            lost = Result("memory", f"more than 1 GB <i>{ODD}</i>")
            cost = {"fit_seconds": 0.5 + number, "peak_bytes": 200_000_000 + number}
            book.add(method, done(score) if number else lost, one.name)
            book.add(f"{method} (oracle)", done(around(0.9)), one.name, "oracle", beta=0.1)
            book.add(method, done([0.5], **cost), one.name, suite="runtime")
            book.add(f"ablation-{number}", done(score), one.name, suite="ablation")
        book.add("DALMC (auto)", done(around(0.7, 5)), one.name, "auto")
        fit = done(around(0.8), n_iter=3, objective=(4.0, 3.5, 3.5))
        book.add("DALMC", fit, one.name, suite="convergence")
        for place in (1.0, 2.0, 3.0):
            book.add("DALMC", done(around(0.8)), one.name, suite="beta", point=10**-place)
            book.add("DALMC", done(around(0.8)), one.name, suite="anchors", point=10 * place)
    return book
