"""A peer on the ten million ratings that `mereo-benches ratings` times, in the same run of `cargo xtask bench`.

Prints the median time of one iteration of implicit's alternating least squares with 60 factors, as many numbers a person as
MCVQ with 6 x 10 states has, on two threads: with conjugate gradients, its default, and with exact solutions. An iteration goes over
all ratings twice, by person and by item; a pass of ours once. Data are of the same shape and popularity, not the same
numbers: what an iteration takes does not depend on these.
"""

import os
import statistics
import time

# As implicit asks for: its threads are its own.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from implicit.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

ROWS, COLUMNS, RATINGS = 70_000, 10_000, 10_000_000
THREADS = 2
ITERATIONS = 5


def ratings():
    random = np.random.default_rng(2)
    each = RATINGS // ROWS
    columns = np.minimum((random.random((ROWS, each)) ** 2 * COLUMNS).astype(np.int64), COLUMNS - 1)
    cells = np.unique((np.arange(ROWS)[:, None] * COLUMNS + columns).ravel())
    rows, columns = cells // COLUMNS, cells % COLUMNS
    taste = random.uniform(-1.5, 1.5, (ROWS, 6))
    liking = 3 + taste[rows, columns % 6] + random.uniform(-1, 1, cells.size)
    values = np.clip(np.rint(liking), 1, 5).astype(np.float32)
    return csr_matrix((values, (rows, columns)), shape=(ROWS, COLUMNS))


def main():
    table = ratings()
    for way, gradients in (("conjugate gradients", True), ("exact solutions", False)):
        times = []
        model = AlternatingLeastSquares(
            factors=60, iterations=ITERATIONS, use_cg=gradients, num_threads=THREADS, random_state=0
        )
        began = time.perf_counter()
        model.fit(table, show_progress=False, callback=lambda _, seconds, __: times.append(seconds))
        whole = time.perf_counter() - began
        print(
            f"implicit ALS of 60, {way}, ratings 70,000 x 10,000: {1e3 * statistics.median(times):.0f} ms an iteration on "
            f"{THREADS} threads; {table.nnz / 1e6:.1f} million ratings; {whole - sum(times):.1f} s beside iterations",
            flush=True,
        )


if __name__ == "__main__":
    main()
