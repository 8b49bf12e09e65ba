"""k-means beside scikit-learn's and FAISS's: the inertia reached and the seconds taken, on five data sets.

    python kmeans_peers.py [MEREO] [SET...]

MEREO is the program (else `mereo` in target/release). Each learns with its defaults but for the number of means; scikit-learn also the best of ten
starts, and FAISS's sample is large enough to be all rows. Inertias are measured here, alike for all, and told as ratios to
scikit-learn's best of ten. Sets that need ../shared/data are skipped where that is absent.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"


def clusters(rows=200_000, columns=20, count=50):
    """Rows of clusters that differ in size and spread, made here."""
    random = np.random.default_rng(1)
    centre = random.normal(size=(count, columns)) * 2.5
    own = random.choice(count, size=rows, p=random.dirichlet(np.full(count, 2.0)))
    spread = random.uniform(0.5, 1.5, size=count)
    return centre[own] + random.normal(size=(rows, columns)) * spread[own][:, None]


def digits():
    with gzip.open(SHARED / "mnist" / "train-images-idx3-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:20_000]


def faces():
    return np.load(SHARED / "cbcl-faces" / "train_faces.npy").reshape(-1, 361)


def descriptors():
    return np.load(SHARED / "sift-bsds" / "learn.npy")


def genes():
    values = np.load(SHARED / "expression" / "yeast_cellcycle.npy")
    return values[~np.isnan(values).any(axis=1)]


SETS = {"clusters": (clusters, 50), "digits": (digits, 64), "faces": (faces, 72), "descriptors": (descriptors, 128), "genes": (genes, 40)}


def inertia(rows, means):
    """The sum of squared distances of rows from their nearest means."""
    rows, means, total = rows.astype(np.float64), means.astype(np.float64), 0.0
    for piece in np.array_split(rows, max(1, len(rows) // 4096)):
        distance = (means**2).sum(1) - 2.0 * piece @ means.T
        total += (piece**2).sum() + distance.min(1).sum()
    return total


def ours(program, rows, count):
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/rows.npy", f"{folder}/model.safetensors"
        np.save(data, rows)
        began = time.perf_counter()
        subprocess.run([program, "fit", "vq", data, "--states", str(count), "-o", model, "--quiet", "--threads", "2"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        with open(model, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            first, last = header["mean"]["data_offsets"]
            body = file.read()[first:last]
        return np.frombuffer(body, np.float64).reshape(count, -1), seconds


def sklearn(rows, count, starts):
    from sklearn.cluster import KMeans

    began = time.perf_counter()
    means = KMeans(count, n_init=starts, random_state=0).fit(rows).cluster_centers_
    return means, time.perf_counter() - began


def faiss(rows, count):
    import faiss

    faiss.omp_set_num_threads(2)
    began = time.perf_counter()
    means = faiss.Kmeans(rows.shape[1], count, niter=25, seed=1, max_points_per_centroid=len(rows))
    means.train(rows)
    return means.centroids, time.perf_counter() - began


def main():
    arguments = sys.argv[1:]
    programs = [a for a in arguments if a not in SETS] or [str(ROOT / "target" / "release" / "mereo")]
    for name, (make, count) in SETS.items():
        if set(arguments) & set(SETS) and name not in arguments:
            continue
        try:
            rows = np.ascontiguousarray(make(), dtype=np.float32)
        except FileNotFoundError as missing:
            print(f"{name}: skipped, there is no {missing.filename}")
            continue
        best, seconds = sklearn(rows, count, 10)
        unit = inertia(rows, best)
        print(f"{name}, {rows.shape[0]} x {rows.shape[1]}, {count} means: scikit-learn's best of ten starts {unit:.6g}, {seconds:.1f} s")
        runs = {"mereo": lambda: ours(programs[0], rows, count), "scikit-learn, one start": lambda: sklearn(rows, count, 1), "FAISS, 25 passes": lambda: faiss(rows, count)}
        for who, run in runs.items():
            means, seconds = run()
            print(f"  {who}: {inertia(rows, means) / unit:.4f} of it, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
