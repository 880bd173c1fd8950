"""Time of predictions of one sample at a time, while two other threads predict as well.

Prints percentiles of 1,000 calls on the digits::

    python benchmarks/single_predictions.py
"""

from itertools import cycle, islice
from threading import Event, Thread
from time import perf_counter
from typing import Any

import numpy as np

from anchorview import DALMC, AutoDALMC, load_digits

N_CALLS = 1000


def seconds_of_calls(model: Any, samples: list[dict[str, Any]]) -> list[float]:
    stopped = Event()

    def others() -> None:
        for sample in cycle(samples):
            if stopped.wait(0.005):
                return
            model.predict(sample)

    threads = [Thread(target=others) for _ in range(2)]
    for thread in threads:
        thread.start()
    seconds = []
    for sample in islice(cycle(samples), N_CALLS):
        start = perf_counter()
        model.predict(sample)
        seconds.append(perf_counter() - start)
    stopped.set()
    for thread in threads:
        thread.join()
    return seconds


def main() -> None:
    views = load_digits().views
    n_samples = len(next(iter(views.values())))
    samples = [{name: view[i : i + 1] for name, view in views.items()} for i in range(n_samples)]
    for model in (DALMC(10, random_state=0), AutoDALMC(10, random_state=0)):
        seconds = seconds_of_calls(model.fit(views), samples)
        p50, p99 = 1000 * np.percentile(seconds, [50, 99])
        name = type(model).__name__
        print(f"{name}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, ratio {p99 / p50:.1f}", flush=True)


if __name__ == "__main__":
    main()
