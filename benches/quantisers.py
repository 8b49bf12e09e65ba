"""FAISS's quantisers beside ours.

First the speed of encoding 256-pixel blocks in 8 bits, as `mereo-benches features` prints it of GVQ.
Then squared error a row and microseconds to encode one, at 8 and at 16 bits, on the rows that
`cargo xtask experiments gvq_equal_bits` uses: SIFT vectors, and photograph patches if that has
written them to target/patches. `cargo xtask bench` runs this in an environment that has all it
needs; to run it alone, `pip install -r benches/requirements.txt` first.
"""

import pathlib
import sys
import time

try:
    import faiss
    import numpy as np
except ImportError as error:
    raise SystemExit(f"{error}: pip install -r benches/requirements.txt") from error

ROOT = pathlib.Path(__file__).resolve().parent.parent


def timed(work):
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def speed():
    """Blocks made of parts with states, as those of mereo-benches are."""
    random = np.random.default_rng(1)
    looks = random.uniform(-1, 1, (12, 256))
    shown = random.integers(0, 12, (100_000, 6))
    rows = looks[shown[:, np.arange(256) * 6 // 256], np.arange(256)]
    rows = (rows + random.uniform(-0.3, 0.3, rows.shape)).astype(np.float32)
    for name, q in (
        ("RQ 8 x 1", faiss.ResidualQuantizer(256, 8, 1)),
        ("LSQ 8 x 1", faiss.LocalSearchQuantizer(256, 8, 1)),
    ):
        q.train(rows[:4000])
        seconds = min(timed(lambda: q.compute_codes(rows))[1] for _ in range(2))
        print(f"FAISS {name}: {6 / seconds:.1f} million blocks of 256 pixels encoded a minute on two threads")


def tell(name, encode, decode, rows):
    codes, seconds = timed(lambda: encode(rows))
    error = ((rows - decode(codes)) ** 2).sum(1).mean()
    print(f"  {name:<18} {error:>10.1f} squared error a row, {1e6 * seconds / len(rows):>7.2f} us")


def quantiser(name, q, learn, rows):
    q.train(learn)
    tell(name, q.compute_codes, q.decode, rows)


def compare(name, learn, rows):
    d = learn.shape[1]
    for bits in (8, 16):
        print(f"{name}, {bits} bits a row")
        if bits == 8:
            means = faiss.Kmeans(d, 256, niter=25, seed=1)
            means.train(learn)
            index = faiss.IndexFlatL2(d)
            index.add(means.centroids)
            tell("VQ 256", lambda x: index.search(x, 1)[1][:, 0], lambda c: means.centroids[c], rows)
        quantiser(f"PQ {bits // 4} x 4", faiss.ProductQuantizer(d, bits // 4, 4), learn, rows)
        rotation = faiss.OPQMatrix(d, bits // 4)
        rotation.train(learn)
        pq = faiss.ProductQuantizer(d, bits // 4, 4)
        pq.train(rotation.apply(learn))
        tell(
            f"OPQ {bits // 4} x 4",
            lambda x: pq.compute_codes(rotation.apply(x)),
            lambda c: rotation.reverse_transform(pq.decode(c)),
            rows,
        )
        for parts, each in ((bits // 4, 4), (bits // 2, 2), (bits, 1)):
            quantiser(f"RQ {parts} x {each}", faiss.ResidualQuantizer(d, parts, each), learn, rows)
            quantiser(f"LSQ {parts} x {each}", faiss.LocalSearchQuantizer(d, parts, each), learn, rows)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    faiss.omp_set_num_threads(2)
    speed()
    for name, folder in (
        ("SIFT", ROOT.parent / "shared" / "data" / "sift-bsds"),
        ("8 x 8 patches", ROOT / "target" / "patches"),
    ):
        files = [folder / "learn.npy", folder / "base.npy"]
        if all(file.exists() for file in files):
            compare(name, *(np.load(file).astype(np.float32) for file in files))
        else:
            print(f"{name}: skipped, there is no {folder.name}/learn.npy and base.npy")


if __name__ == "__main__":
    main()
