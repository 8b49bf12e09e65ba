"""What the Python package and a cluster cost, measured: `python python/benches/costs.py`.

Times are this machine's. Each is the best of several, so that what else runs matters little.
"""

from __future__ import annotations

import contextlib
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

    for code in ("pass", "import numpy", "import mereo", "from mereo import MCVQ", "import sklearn.base"):
        took = best(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True), 5)
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"`{code}`: {took:.2f} s, {used:.2f} s of processor time")
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


@contextlib.contextmanager
def cluster_of(workers: int):
    """A client of a scheduler and workers that are processes of their own, so that each one's processor time can be told."""
    import distributed

    with tempfile.TemporaryDirectory() as folder:
        python = [sys.executable, "-m"]
        about = ["--scheduler-file", f"{folder}/scheduler.json", "--no-dashboard"]
        commands = [[*python, "distributed.cli.dask_scheduler", *about, "--host", "127.0.0.1", "--port", "0"]]
        worker = [*python, "distributed.cli.dask_worker", *about, "--nthreads", "1", "--no-nanny", "--local-directory", folder]
        commands += [worker] * workers
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # What a nanny would tell a worker: memory goes back to the system at once.
        environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
        processes = [subprocess.Popen(command, env=environment, **quiet) for command in commands]
        try:
            with distributed.Client(scheduler_file=f"{folder}/scheduler.json", timeout=60) as client:
                client.wait_for_workers(workers, timeout=60)
                yield client
        finally:
            for process in processes:
                process.kill()
                process.wait()


def spent(client) -> np.ndarray:
    """Processor seconds so far: of the client, the scheduler, the workers."""
    workers = sum(client.run(time.process_time).values())
    return np.array([time.process_time(), client.run_on_scheduler(time.process_time), workers])


def passes(client, X, **options):
    """Seconds of each pass but the first."""
    from mereo import GaussianMixture
    from mereo.dask import fit

    heard = []
    told = lambda record: heard.append(time.perf_counter())  # noqa: E731
    fit(client, GaussianMixture(callback=told, tol=0.0, n_init=1, **options), X)
    return np.diff(heard)


def cluster() -> None:
    """Overhead of a pass, of a task and of reading, two workers beside one, a killed worker."""
    import dask.array as da

    from mereo import GaussianMixture
    from mereo.dask import fit

    # 16 shards whose statistics are a megabyte: 3 sums of 500 components x 84 columns in double precision.
    small = np.random.default_rng(0).normal(size=(16_384, 84))
    with cluster_of(2) as client:
        X = da.from_array(small, chunks=(1024, 84)).persist()
        few, many = 2, 22
        fit(client, GaussianMixture(n_components=500, n_init=1, max_iter=few, tol=0.0), X)
        marks = [spent(client)]
        for number in (few, many):
            took = passes(client, X, n_components=500, max_iter=number)
            marks.append(spent(client))
        there = (marks[2] - marks[1] - (marks[1] - marks[0])) / (many - few)
        here = []
        for number in (few, many):
            began = time.process_time()
            GaussianMixture(n_components=500, n_init=1, max_iter=number, tol=0.0).fit(small)
            here.append(time.process_time() - began)
        computing = (here[1] - here[0]) / (many - few)
        print(f"a pass of 16 shards, 1 MB of statistics: {min(took):.3f} s at best, {np.median(took):.3f} s mostly; processor time")
        print(f"  client {there[0]:.3f} s, scheduler {there[1]:.3f} s, both workers {there[2]:.3f} s; here, all of it, {computing:.3f} s")
        tasks = 4000
        before = spent(client)
        began = time.perf_counter()
        client.gather(client.map(abs, range(tasks), pure=False))
        wall = time.perf_counter() - began
        each = (spent(client) - before) / tasks
        print(f"{tasks} tasks of nothing: {1e3 * wall / tasks:.2f} ms each; processor time of the scheduler {1e3 * each[1]:.2f} ms each")
    reading()
    large = np.random.default_rng(0).normal(size=(400_000, 50)).astype(np.float32)
    speeds = {}
    for n in (1, 2):
        with cluster_of(n) as client:
            X = da.from_array(large, chunks=(25_000, 50)).persist()
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


def reading() -> None:
    """How fast a worker makes rows of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mereo.dask import _read_group

    with tempfile.TemporaryDirectory() as folder:
        X = np.random.default_rng(0).normal(size=(262_144, 50)).astype(np.float32)
        path = os.path.join(folder, "rows.parquet")
        pq.write_table(pa.Table.from_arrays(list(X.T.copy()), names=[f"x{i}" for i in range(50)]), path, row_group_size=262_144)
        source = {"path": path, "group": 0, "options": {}}
        _read_group(source, None, None)
        began = time.process_time()
        for _ in range(5):
            _read_group(source, None, None)
        took = (time.process_time() - began) / 5
        print(f"reading Parquet, 52 MB of cells a row group: {X.nbytes / took / 1e6:.0f} MB of cells a second of processor time")


if __name__ == "__main__":
    print(f"load before: {os.getloadavg()}")
    package()
    cluster()
    print(f"load after: {os.getloadavg()}")
