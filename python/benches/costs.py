"""What the Python package and a cluster cost, measured: `python python/benches/costs.py`.

Times are this machine's. Each is the best of several, so that what else runs matters little.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np


def best(work, times=5):
    """The shortest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def package() -> None:
    """Import, one row, no copies, and a fit beside the program's."""
    import mereo

    took = best(lambda: subprocess.run([sys.executable, "-c", "import mereo"], check=True), 5)
    bare = best(lambda: subprocess.run([sys.executable, "-c", "import sklearn.base, sklearn.utils.validation"], check=True), 5)
    print(f"import mereo: {took:.2f} s, of which scikit-learn {bare:.2f} s")
    X = np.random.default_rng(0).normal(size=(1000, 20))
    model = mereo.PCA(n_components=2).fit(X)
    row = X[:1]
    known = mereo._data.NOTHING
    inside = best(lambda: [model._model.encode(row, known, 1) for _ in range(1000)]) / 1000
    whole = best(lambda: [model.transform(row) for _ in range(1000)]) / 1000
    print(f"one row: transform {1e6 * whole:.1f} µs, of which the native call {1e6 * inside:.1f} µs")
    X = np.random.default_rng(0).normal(size=(20_000, 361)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npy")
        np.save(path, X)
        options = {"n_parts": 6, "n_states": 12, "n_init": 1, "max_iter": 20, "tol": 0.0, "n_jobs": 2}
        took = best(lambda: mereo.MCVQ(**options).fit(X), 2)
        command = [sys.executable, "-m", "mereo", "--quiet", "fit", "mcvq", path, "--parts", "6", "--states", "12"]
        command += ["--restarts", "1", "--passes", "20", "--tolerance", "0", "--threads", "2", "-o", f"{folder}/m"]
        program = best(lambda: subprocess.run(command, check=True, capture_output=True), 2)
    print(f"fit of 20,000 x 361 float32: {took:.2f} s; the program, with starting and reading {program:.2f} s")


def cluster() -> None:
    """Overhead of a pass, two workers beside one, a killed worker."""
    import dask.array as da
    import distributed

    from mereo import GaussianMixture
    from mereo.dask import fit

    def passes(client, X, **options):
        seconds = []
        last = time.perf_counter()

        def told(record):
            nonlocal last
            now = time.perf_counter()
            seconds.append(now - last)
            last = now

        fit(client, GaussianMixture(callback=told, tol=0.0, n_init=1, **options), X)
        return seconds[1:]

    def started(n):
        local = distributed.LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=None)
        return local, distributed.Client(local)

    # 16 shards whose statistics are a megabyte: 3 sums of 500 components x 84 columns in double precision.
    small = da.from_array(np.random.default_rng(0).normal(size=(16_384, 84)), chunks=(1024, 84))
    local, client = started(2)
    with local, client:
        took = passes(client, small, n_components=500, max_iter=6)
        here = []
        began = time.perf_counter()
        GaussianMixture(
            n_components=500, n_init=1, max_iter=6, tol=0.0, n_jobs=2, callback=lambda r: here.append(time.perf_counter())
        ).fit(small.compute())
        computing = min(np.diff([began, *here])[1:])
        print(f"a pass of 16 shards, 1 MB of statistics: {min(took):.3f} s, computing {computing:.3f} s")
    large = np.random.default_rng(0).normal(size=(400_000, 50)).astype(np.float32)
    speeds = {}
    for n in (1, 2):
        local, client = started(n)
        with local, client:
            X = da.from_array(large, chunks=(25_000, 50))
            speeds[n] = min(passes(client, X, n_components=200, max_iter=3))
            if n == 2:
                pids = list(client.run(os.getpid).values())
                heard = []

                def kill(record):
                    heard.append(time.perf_counter())
                    if len(heard) == 2:
                        os.kill(pids[0], signal.SIGKILL)

                fit(client, GaussianMixture(n_components=200, n_init=1, max_iter=4, tol=0.0, callback=kill), X)
                print(f"a killed worker: passes of {np.diff(heard).round(2)} s")
    print(f"a pass of 400,000 x 50 float32: one worker {speeds[1]:.2f} s, two {speeds[2]:.2f} s")


if __name__ == "__main__":
    package()
    cluster()
