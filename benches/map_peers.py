"""Maps beside openTSNE and scikit-learn, in one run on one machine: CPU seconds, wall seconds, and cost.

Usage: map_peers.py [MEREO] [ROWS]      MEREO: the program (default target/release/mereo); ROWS: digits (default 10000)

The divergence of both t-SNE maps is worked out here, pair by pair, from the same affinities (openTSNE's, with exact
neighbours), so that neither program is asked about its own map. Needs shared/data beside the project, and
openTSNE, scikit-learn and numpy.
"""
import csv
import gzip
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MNIST = ROOT.parent / "shared/data/mnist"
MEREO = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/mereo")
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000


def digits():
    """Training and test digits, one after another, and their labels."""
    def read(name, skip):
        return np.frombuffer(gzip.open(MNIST / name).read()[skip:], np.uint8)

    parts = [(read(f"{p}-images-idx3-ubyte.gz", 16).reshape(-1, 784), read(f"{p}-labels-idx1-ubyte.gz", 8))
             for p in ("train", "t10k")]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def timed(work):
    wall, cpu = time.time(), time.process_time()
    result = work()
    return result, time.process_time() - cpu, time.time() - wall


def mereo(*args):
    """Runs the program; its answer, CPU and wall seconds."""
    wall, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    args = [*map(str, args), *([] if "--json" in args else ["--json"])]
    done = subprocess.run([MEREO, "-q", *args], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout), cpu, time.time() - wall


def points(path):
    with open(path) as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(v) for v in row[:2]] for row in rows])


def divergence(p, y):
    """KL of a map, from sparse affinities that add up to 1, pair by pair."""
    z = 0.0
    for start in range(0, len(y), 1000):
        block = y[start:start + 1000]
        d = ((block[:, None, :] - y[None, :, :]) ** 2).sum(-1)
        z += (1 / (1 + d)).sum()
    z -= len(y)
    p = p.tocoo()
    w = 1 / (1 + ((y[p.row] - y[p.col]) ** 2).sum(-1))
    return float((p.data * (np.log(p.data) - np.log(w) + np.log(z))).sum())


def agreement(y, labels):
    from sklearn.neighbors import NearestNeighbors
    near = NearestNeighbors(n_neighbors=11).fit(y).kneighbors(y, return_distance=False)[:, 1:]
    return float((labels[near] == labels[:, None]).mean())


def main():
    if not MNIST.exists():
        print("skipped: shared/data/mnist is not beside the project")
        return
    import openTSNE
    from sklearn.decomposition import PCA
    from sklearn.manifold import ClassicalMDS

    pixels, labels = digits()
    some = np.sort(np.random.default_rng(0).permutation(len(pixels))[:ROWS])
    pixels, labels = pixels[some].astype(np.float32) / 255, labels[some].astype(np.int64)
    folder = pathlib.Path(tempfile.mkdtemp())
    codes, cpu, wall = timed(lambda: PCA(50, random_state=0).fit_transform(pixels))
    np.save(folder / "codes.npy", codes)
    np.save(folder / "labels.npy", labels)
    print(f"{ROWS} digits, 50 principal components, perplexity 30\n")
    print(f"{'':34} {'CPU s':>8} {'wall s':>8} {'KL':>8} {'labels':>8}")

    def line(name, cpu, wall, kl=None, same=None):
        kl = f"{kl:8.4f}" if kl is not None else " " * 8
        print(f"{name:34} {cpu:8.1f} {wall:8.1f} {kl} {f'{same:8.4f}' if same is not None else ''}", flush=True)

    affinities, a_cpu, a_wall = timed(lambda: openTSNE.affinity.PerplexityBasedNN(
        codes, perplexity=30, method="exact", n_jobs=2, random_state=0))
    for seed in (0, 1, 2):
        _, cpu, wall = mereo("map", folder / "codes.npy", "--label", folder / "labels.npy", "--perplexity", 30,
                             "--seed", seed, "-o", folder / "m.safetensors", "--csv", folder / "m.csv")
        own = points(folder / "m.csv")
        kl = divergence(affinities.P, own) if ROWS <= 20_000 else None
        line(f"mereo map, seed {seed}", cpu, wall, kl, agreement(own, labels))
        if seed and ROWS > 20_000:
            break

    def peer():
        start = openTSNE.initialization.pca(codes, random_state=0)
        return openTSNE.TSNE(perplexity=30, n_jobs=2, random_state=0, initialization=start).fit(affinities=affinities)
    theirs, cpu, wall = timed(peer)
    theirs = np.asarray(theirs)
    kl = divergence(affinities.P, theirs) if ROWS <= 20_000 else None
    line("openTSNE", cpu + a_cpu, wall + a_wall, kl, agreement(theirs, labels))

    # New rows: a tenth is placed into a map of the others.
    held = np.arange(ROWS) % 10 == 0
    for name, keep in (("known", ~held), ("new", held)):
        np.save(folder / f"{name}.npy", codes[keep])
        np.save(folder / f"{name}-labels.npy", labels[keep])
    mereo("map", folder / "known.npy", "--label", folder / "known-labels.npy", "--perplexity", 30, "-o",
          folder / "k.safetensors")
    told, cpu, wall = mereo("map", "--onto", folder / "k.safetensors", folder / "new.npy", "--label",
                            folder / "new-labels.npy", "--csv", folder / "n.csv", "--json")
    line(f"mereo map --onto, {held.sum()} new rows", cpu, wall, None, told["label_agreement"])

    few = codes[:2000].astype(np.float64)
    np.save(folder / "few.npy", few)
    print()
    _, cpu, wall = mereo("map", folder / "few.npy", "--method", "pcoa", "-o", folder / "p.safetensors")
    line("mereo pcoa, 2,000 rows", cpu, wall)
    distances = np.sqrt(((few[:, None, :] - few[None, :, :]) ** 2).sum(-1))
    np.save(folder / "far.npy", distances)
    _, cpu, wall = mereo("map", folder / "far.npy", "--distances", "--method", "pcoa", "-o", folder / "p.safetensors")
    line("mereo pcoa, 2,000 x 2,000 distances", cpu, wall)
    _, cpu, wall = timed(lambda: ClassicalMDS(2, metric="precomputed").fit_transform(distances))
    line("scikit-learn, the same distances", cpu, wall)
    np.save(folder / "six.npy", codes[:6000, :30])
    told, cpu, wall = mereo("map", folder / "six.npy", "--method", "sammon", "--json", "-o", folder / "s.safetensors")
    line("mereo sammon, 6,000 rows", cpu, wall, told["cost"])


if __name__ == "__main__":
    main()
