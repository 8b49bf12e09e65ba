"""The same bytes on a cluster, whatever happens to its workers: in real processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from test_sklearn import small

distributed = pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

import mereo  # noqa: E402
from mereo import MCVQ, GaussianMixture  # noqa: E402
from mereo.dask import fit, score_samples, transform  # noqa: E402

NAMES = ["a", "b", "c"]


def table(rows=9000):
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 3)) + 4.0 * random.integers(0, 2, size=(rows, 1)) + 20.0
    X[::9, 1] = np.nan
    return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows in three files whose row groups end where no shard does."""
    path = tmp_path_factory.mktemp("rows")
    X = table()
    for number, part in enumerate(np.split(X, [2500, 7000])):
        columns = [pa.array(c, from_pandas=True) for c in part.T]
        pq.write_table(pa.Table.from_arrays(columns, names=NAMES), path / f"part{number}.parquet", row_group_size=1300)
    return path


@pytest.fixture(scope="module")
def cluster():
    with dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.comm.timeouts.connect": "10s"}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                yield client


def here(estimator):
    return estimator.fit(pd.DataFrame(table(), columns=NAMES))._model.to_bytes()


def model(**more):
    return MCVQ(n_parts=2, n_states=2, n_init=2, max_iter=6, tol=0.0, random_state=3, **more)


def test_files_frames_and_arrays_give_the_bytes_of_one_machine(cluster, folder):
    wanted = here(model())
    assert fit(cluster, model(), f"{folder}/*.parquet")._model.to_bytes() == wanted
    assert fit(cluster, model(), str(folder))._model.to_bytes() == wanted
    frame = dd.from_pandas(pd.DataFrame(table(), columns=NAMES), npartitions=7)
    assert fit(cluster, model(), frame)._model.to_bytes() == wanted
    array = da.from_array(table(), chunks=(1111, 2))
    assert fit(cluster, model(), array)._model.to_bytes() == model().fit(table())._model.to_bytes()


def test_the_program_gives_the_same_bytes_of_a_file(cluster, tmp_path):
    whole = pa.Table.from_pandas(pd.DataFrame(table(), columns=NAMES), preserve_index=False)
    pq.write_table(whole, tmp_path / "rows.parquet", row_group_size=2000)
    command = [sys.executable, "-m", "mereo", "--quiet", "fit", "mcvq", "rows.parquet", "--parts", "2", "--states", "2"]
    command += ["--restarts", "2", "--passes", "6", "--tolerance", "0", "--seed", "3", "-o", "there.safetensors"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    fit(cluster, model(), str(tmp_path / "rows.parquet")).save(tmp_path / "cluster.safetensors")
    assert (tmp_path / "there.safetensors").read_bytes() == (tmp_path / "cluster.safetensors").read_bytes()


@pytest.mark.parametrize("name", sorted(mereo.MODELS))
def test_every_learner_of_the_loop_works_so(name, cluster, folder):
    estimator = small(mereo.MODELS[name]._kind)
    try:
        there = fit(cluster, estimator, f"{folder}/*.parquet")
    except ValueError as error:
        assert "remembers rows" in str(error) or "must have them here" in str(error)
        return
    assert there._model.to_bytes() == here(small(mereo.MODELS[name]._kind))


def test_small_tasks_are_put_together_in_the_same_tree(cluster, folder, monkeypatch):
    monkeypatch.setattr("mereo.dask._TASK_CELLS", 1)
    monkeypatch.setattr("mereo.dask._FAN_IN", 2)
    # More shards than runs: every run is of two.
    X = np.repeat(table(), 30, axis=0)
    quick = lambda: GaussianMixture(n_components=2, n_init=1, max_iter=1)  # noqa: E731
    array = da.from_array(X, chunks=(50_000, 3))
    assert fit(cluster, quick(), array)._model.to_bytes() == quick().fit(X)._model.to_bytes()


def test_what_remembers_rows_says_so_by_name(cluster, folder):
    with pytest.raises(ValueError, match="remembers rows"):
        fit(cluster, model(gate="factorised"), f"{folder}/*.parquet")


def test_labels_and_weights_come_from_columns(cluster):
    frame = pd.DataFrame(table(3000), columns=NAMES)
    frame["kind"] = np.where(np.arange(3000) % 3 == 0, "left", "right")
    frame["often"] = np.arange(3000) % 4
    wanted = model(n_classes="labels").fit(frame[NAMES], frame["kind"], sample_weight=frame["often"])
    there = fit(cluster, model(n_classes="labels"), dd.from_pandas(frame, npartitions=3), label="kind", weight="often")
    assert there._model.to_bytes() == wanted._model.to_bytes()


def test_questions_are_lazy_and_the_same(cluster):
    frame = pd.DataFrame(table(2000), columns=NAMES)
    estimator = model().fit(frame)
    lazy = dd.from_pandas(frame, npartitions=3)
    np.testing.assert_array_equal(transform(estimator, lazy).compute().to_numpy(), estimator.transform(frame))
    np.testing.assert_array_equal(score_samples(estimator, lazy).compute().to_numpy(), estimator.score_samples(frame))
    bare = model().fit(table(2000))
    blocks = da.from_array(table(2000), chunks=(700, 3))
    np.testing.assert_array_equal(transform(bare, blocks).compute(), bare.transform(table(2000)))


def test_a_killed_worker_changes_no_bit(folder):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            passes = []

            def kill(record):
                passes.append(time.monotonic())
                if len(passes) == 2:
                    # In the middle of the next pass.
                    threading.Timer(0.01, os.kill, (pids[0], signal.SIGKILL)).start()

            there = fit(client, model(callback=kill), f"{folder}/*.parquet")
            assert len(passes) > 5
            assert not os.path.exists(f"/proc/{pids[0]}") or not os.path.exists("/proc"), "nobody was killed"
            assert there._model.to_bytes() == here(model())


def test_a_worker_that_joins_late_changes_no_bit(folder):
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            joined = []

            def join(record):
                if not joined:
                    joined.append(True)
                    cluster.scale(3)

            there = fit(client, model(callback=join), f"{folder}/*.parquet")
            assert there._model.to_bytes() == here(model())


def test_a_killed_client_is_taken_up(folder, tmp_path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        script = f"""
            import os, distributed, mereo, mereo.dask
            heard = []
            def die(record):
                heard.append(record)
                if len(heard) == 4:
                    os._exit(9)
            client = distributed.Client({cluster.scheduler_address!r})
            estimator = mereo.MCVQ(n_parts=2, n_states=2, n_init=2, max_iter=6, tol=0.0, random_state=3, callback=die)
            mereo.dask.fit(client, estimator, "{folder}/*.parquet", checkpoint={str(tmp_path / "c")!r})
        """
        killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True)
        assert killed.returncode == 9, killed.stderr.decode()
        assert (tmp_path / "c").exists()
        with distributed.Client(cluster) as client:
            heard = []
            resumed = model(callback=lambda record: heard.append(record["pass"]) and None)
            there = fit(client, resumed, f"{folder}/*.parquet", checkpoint=tmp_path / "c", resume=True)
            assert heard[0] > 0, "it began anew"
            assert there._model.to_bytes() == here(model())


def test_wrong_rows_are_told(cluster, tmp_path):
    with pytest.raises(FileNotFoundError):
        fit(cluster, model(), str(tmp_path / "*.parquet"))
    with pytest.raises(TypeError, match="Parquet"):
        fit(cluster, model(), table())
    infinite = table(2000)
    infinite[1500, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fit(cluster, GaussianMixture(n_components=2), da.from_array(infinite, chunks=(600, 3)))


@pytest.mark.parametrize("workers", [1, 4])
def test_the_number_of_workers_changes_no_bit(workers, folder):
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert fit(client, model(), f"{folder}/*.parquet")._model.to_bytes() == here(model())


def test_a_worker_that_hears_nothing_any_more_changes_no_bit(folder):
    """One that is stopped neither answers nor closes its connections, as if it were cut off from the network."""
    quick = {
        "distributed.scheduler.worker-ttl": "2 s",
        "distributed.comm.timeouts.connect": "3 s",
        "distributed.comm.timeouts.tcp": "15 s",
    }
    with dask.config.set(quick):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                pids = list(client.run(os.getpid).values())
                passes = []

                def cut_off(record):
                    passes.append(record)
                    if len(passes) == 2:
                        threading.Timer(0.01, os.kill, (pids[0], signal.SIGSTOP)).start()

                try:
                    there = fit(client, model(callback=cut_off), f"{folder}/*.parquet")
                finally:
                    # Nobody else would, and it could not be ended.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pids[0], signal.SIGKILL)
                assert there._model.to_bytes() == here(model())


#: Learns on workers that are in network namespaces of their own, and cuts one of them off in the middle of a pass.
CUT_OFF = """
    import json, os, subprocess, sys, threading, time, dask, distributed, mereo, mereo.dask

    folder, out, hub, first, second = sys.argv[1:]
    quick = {
        "distributed.scheduler.worker-ttl": "3 s",
        "distributed.comm.timeouts.connect": "4 s",
        "distributed.comm.timeouts.tcp": "15 s",
    }
    dask.config.set(quick)
    # Workers hear of it too.
    environment = {"DASK_" + name.upper().replace(".", "__").replace("-", "_"): value for name, value in quick.items()}
    with distributed.LocalCluster(n_workers=0, host="10.77.0.1", protocol="tcp", dashboard_address=None) as cluster:
        workers = []
        for namespace in (first, second):
            command = ["nsenter", f"--net=/run/netns/{namespace}", sys.executable, "-m", "distributed.cli.dask_worker"]
            command += [cluster.scheduler_address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", out]
            workers.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **environment}))
        try:
            with distributed.Client(cluster) as client:
                client.wait_for_workers(2, timeout=60)
                hosts = sorted(about["host"] for about in client.scheduler_info(n_workers=-1)["workers"].values())
                passes = []
                cut = ["ip", "-n", hub, "link", "set", "mereo-w0", "down"]

                def cut_off(record):
                    passes.append(record["bound"])
                    if len(passes) == 2:
                        threading.Timer(0.01, subprocess.run, (cut,), {"check": True}).start()

                estimator = mereo.MCVQ(n_parts=2, n_states=2, n_init=2, max_iter=6, tol=0.0, random_state=3, callback=cut_off)
                mereo.dask.fit(client, estimator, f"{folder}/*.parquet").save(f"{out}/model.safetensors")
                left = hosts
                for _ in range(100):
                    left = [about["host"] for about in client.scheduler_info(n_workers=-1)["workers"].values()]
                    if len(left) == 1:
                        break
                    time.sleep(0.2)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    print(json.dumps({"hosts": hosts, "left": left, "passes": len(passes)}))
"""


@pytest.fixture
def namespaces():
    """A client and two workers that see each other through one bridge, and nothing else: four network namespaces."""
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        pytest.skip("network namespaces need iproute2 and nsenter, which are not installed")
    names = [f"mereo-{os.getpid()}-{what}" for what in ("hub", "client", "w0", "w1")]
    hub = names[0]

    def ip(*words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"network namespaces are not permitted here: ip {' '.join(words)}: {done.stderr.strip()}")

    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", hub, "link", "set", "bridge", "up")
        for number, name in enumerate(names[1:], start=1):
            port = f"mereo-{name.rpartition('-')[2]}"
            ip("-n", hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", hub, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_a_worker_that_is_cut_off_from_the_network_changes_no_bit(namespaces, folder, tmp_path):
    hub, client, *workers = namespaces
    command = ["nsenter", f"--net=/run/netns/{client}", sys.executable, "-c", textwrap.dedent(CUT_OFF)]
    began = time.monotonic()
    done = subprocess.run([*command, str(folder), str(tmp_path), hub, *workers], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["hosts"] == ["10.77.0.2", "10.77.0.3"], "workers are in namespaces of their own"
    assert told["left"] == ["10.77.0.3"], "nobody was cut off"
    assert told["passes"] > 5
    assert (tmp_path / "model.safetensors").read_bytes() == here(model())
    assert time.monotonic() - began < 120
