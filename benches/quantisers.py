"""FAISS's quantisers on the rows of SIFT vectors that the experiment `gvq_equal_bits` uses.

Prints squared error a row and microseconds to encode one, at 8 and at 16 bits, for comparison with what
`cargo xtask experiments gvq_equal_bits` prints. Needs numpy and faiss-cpu; SIFT vectors in ../shared/data.
"""

import pathlib
import time

import faiss
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def shared(name):
    for up in ("..", "../.."):
        path = ROOT / up / "shared" / "data" / name
        if path.exists():
            return path
    raise SystemExit(f"shared/data/{name} is absent")


def tell(name, encode, decode, rows):
    began = time.perf_counter()
    codes = encode(rows)
    micros = 1e6 * (time.perf_counter() - began) / len(rows)
    error = ((rows - decode(codes)) ** 2).sum(1).mean()
    print(f"  {name:<18} {error:>10.1f} squared error a row, {micros:>7.2f} us")


def quantiser(name, q, learn, rows):
    q.train(learn)
    tell(name, q.compute_codes, q.decode, rows)


def main():
    faiss.omp_set_num_threads(2)
    learn = np.load(shared("sift-bsds/learn.npy")).astype(np.float32)
    rows = np.load(shared("sift-bsds/base.npy")).astype(np.float32)
    d = learn.shape[1]
    for bits in (8, 16):
        print(f"SIFT, {bits} bits a row")
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


if __name__ == "__main__":
    main()
