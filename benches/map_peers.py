"""Maps beside openTSNE and scikit-learn, in one run on one machine: CPU seconds, wall seconds, and cost.

Usage: map_peers.py [WHAT...]      WHAT: a number of digits, sets, scaling, many (default: 10000 sets scaling)

MEREO in the environment names the program (default: target/release/mereo).

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
MEREO = os.environ.get("MEREO", str(ROOT / "target/release/mereo"))
ASKED = sys.argv[1:] or ["10000", "sets", "scaling"]


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


def sets():
    """Three data sets of at most 5,000 rows, 50 principal components each."""
    from sklearn.decomposition import PCA

    data = MNIST.parent
    pixels, _ = digits()
    faces = np.concatenate([np.load(path).reshape(-1, 361) for path in sorted((data / "cbcl-faces").glob("train*.npy"))])
    sift = np.load(sorted((data / "sift-bsds").glob("base*.npy"))[0])
    for name, rows in (("digits", pixels), ("CBCL faces and others", faces), ("SIFT of photographs", sift)):
        some = np.sort(np.random.default_rng(0).permutation(len(rows))[:5000])
        yield name, PCA(50, random_state=0).fit_transform(rows[some].astype(np.float64))


def line(name, cpu, wall, kl=None, same=None):
    kl = f"{kl:8.4f}" if kl is not None else " " * 8
    print(f"{name:40} {cpu:8.1f} {wall:8.1f} {kl} {f'{same:8.4f}' if same is not None else ''}", flush=True)


def peer(codes, affinities, seed):
    import openTSNE

    start = openTSNE.initialization.pca(codes, random_state=seed)
    tsne = openTSNE.TSNE(perplexity=30, n_jobs=2, random_state=seed, initialization=start)
    return np.asarray(tsne.fit(affinities=affinities))


def affinities_of(codes, method="exact"):
    import openTSNE

    return openTSNE.affinity.PerplexityBasedNN(codes, perplexity=30, method=method, n_jobs=2, random_state=0)


def compare_sets(folder):
    """Divergences on the same affinities: three data sets, three seeds."""
    worst = 0.0
    for name, codes in sets():
        np.save(folder / "codes.npy", codes)
        affinities, a_cpu, a_wall = timed(lambda codes=codes: affinities_of(codes))
        print(f"\n{name}: {len(codes)} rows")
        for seed in (0, 1, 2):
            _, cpu, wall = mereo("map", folder / "codes.npy", "--perplexity", 30, "--seed", seed,
                                 "-o", folder / "m.safetensors", "--csv", folder / "m.csv")
            ours = divergence(affinities.P, points(folder / "m.csv"))
            line(f"mereo map, seed {seed}", cpu, wall, ours)
            found, cpu, wall = timed(lambda codes=codes, seed=seed: peer(codes, affinities, seed))
            theirs = divergence(affinities.P, found)
            line(f"openTSNE, seed {seed}", cpu + a_cpu, wall + a_wall, theirs)
            worst = max(worst, ours / theirs - 1)
    print(f"\nmereo's divergence is at most {100 * worst:+.2f}% above openTSNE's")


def compare_digits(folder, rows):
    from sklearn.decomposition import PCA

    pixels, labels = digits()
    some = np.sort(np.random.default_rng(0).permutation(len(pixels))[:rows])
    pixels, labels = pixels[some].astype(np.float32) / 255, labels[some].astype(np.int64)
    codes = PCA(50, random_state=0).fit_transform(pixels)
    np.save(folder / "codes.npy", codes)
    np.save(folder / "labels.npy", labels)
    print(f"\n{rows} digits, 50 principal components, perplexity 30")
    _, cpu, wall = mereo("map", folder / "codes.npy", "--label", folder / "labels.npy", "--perplexity", 30,
                         "-o", folder / "m.safetensors", "--csv", folder / "m.csv")
    small = rows <= 20_000
    affinities, a_cpu, a_wall = timed(lambda: affinities_of(codes, "exact" if small else "approx"))
    own = points(folder / "m.csv")
    line("mereo map", cpu, wall, divergence(affinities.P, own), agreement(own, labels))
    theirs, cpu, wall = timed(lambda: peer(codes, affinities, 0))
    line("openTSNE", cpu + a_cpu, wall + a_wall, divergence(affinities.P, theirs), agreement(theirs, labels))

    # New rows: a tenth is placed into a map of the others.
    held = np.arange(rows) % 10 == 0
    for name, keep in (("known", ~held), ("new", held)):
        np.save(folder / f"{name}.npy", codes[keep])
        np.save(folder / f"{name}-labels.npy", labels[keep])
    mereo("map", folder / "known.npy", "--label", folder / "known-labels.npy", "--perplexity", 30, "-o",
          folder / "k.safetensors")
    told, cpu, wall = mereo("map", "--onto", folder / "k.safetensors", folder / "new.npy", "--label",
                            folder / "new-labels.npy", "--csv", folder / "n.csv", "--json")
    line(f"mereo map --onto, {held.sum()} new rows", cpu, wall, None, told["label_agreement"])


def compare_scaling(folder):
    from sklearn.decomposition import PCA
    from sklearn.manifold import ClassicalMDS

    pixels, _ = digits()
    codes = PCA(50, random_state=0).fit_transform(pixels[:6000].astype(np.float64) / 255)
    few = codes[:2000]
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
    np.save(folder / "six.npy", codes[:, :30])
    told, cpu, wall = mereo("map", folder / "six.npy", "--method", "sammon", "--json", "-o", folder / "s.safetensors")
    line("mereo sammon, 6,000 rows", cpu, wall, told["cost"])


def compare_many(folder):
    """Made rows beyond what neighbours are found exactly for: what share of them the search finds."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(500, 20)) * 3
    rows = centres[random.integers(0, 500, 250_000)] + random.normal(size=(250_000, 20))
    np.save(folder / "many.npy", rows.astype(np.float32))
    print()
    told, cpu, wall = mereo("map", folder / "many.npy", "-o", folder / "many.safetensors")
    line("mereo map, 250,000 made rows of 20", cpu, wall, told["kl"])
    print(f"share of true neighbours found: {told['search_recall']:.4f}")


def main():
    if not MNIST.exists():
        print("skipped: shared/data/mnist is not beside the project")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print(f"{'':40} {'CPU s':>8} {'wall s':>8} {'KL':>8} {'labels':>8}")
        for word in ASKED:
            if word.isdigit():
                compare_digits(folder, int(word))
            else:
                {"sets": compare_sets, "scaling": compare_scaling, "many": compare_many}[word](folder)


if __name__ == "__main__":
    main()
