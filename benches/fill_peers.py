"""Peers of `cargo xtask experiments fill`: the same cells hidden, filled by scikit-learn and Lace.

Run with scikit-learn, pandas and pylace: `python fill_peers.py FOLDER`, with the folder of real data sets;
words that follow choose among the peers by name.
Errors are root mean squares over the hidden cells, columns of body fat in units of their deviation.
"""

import gzip
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SEED = 1


def hidden(rows, columns):
    """One cell in ten, by a hash of its number, as the experiment hides them."""
    with np.errstate(over="ignore"):
        x = np.arange(rows * columns, dtype=np.uint64) + np.uint64(SEED) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return (x % np.uint64(10) == 0).reshape(rows, columns)


def tables(folder):
    yield "yeast", np.load(folder / "expression/yeast_cellcycle.npy").astype(float)
    fat = np.genfromtxt(folder / "tabular/bodyfat.csv", delimiter=",", skip_header=1)
    yield "body fat", fat
    with gzip.open(folder / "mnist/train-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(16 + 3000 * 784), np.uint8, offset=16).reshape(-1, 14, 2, 14, 2)
    yield "digits 14x14", pixels.mean(axis=(2, 4)).reshape(-1, 196) / 255


def lace(x):
    import lace as engine
    import pandas

    # A column without variation is no column to Lace, and its mean is known.
    kept = np.nanstd(x, axis=0) > 0
    frame = pandas.DataFrame(x[:, kept], columns=[f"c{i}" for i in np.flatnonzero(kept)])
    frame.index = [f"r{i}" for i in range(len(frame))]
    model = engine.Engine.from_df(frame, n_states=4, rng_seed=0)
    model.update(100)
    out = np.where(np.isnan(x) & ~kept, 0.0, x)
    for column in np.flatnonzero(kept):
        holes = np.flatnonzero(np.isnan(x[:, column]))
        if len(holes):
            filled = model.impute(f"c{column}", with_uncertainty=False)
            found = dict(zip(filled["index"].to_list(), filled[f"c{column}"].to_list()))
            out[holes, column] = [found[f"r{row}"] for row in holes]
    return out


def main():
    warnings.filterwarnings("ignore")
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer

    for name, whole in tables(Path(sys.argv[1])):
        hide = hidden(*whole.shape) & ~np.isnan(whole)
        masked = whole.copy()
        masked[hide] = np.nan
        unit = np.nanstd(masked, axis=0) if name == "body fat" else np.ones(whole.shape[1])
        unit[unit == 0] = 1
        centre = np.nanmean(masked, axis=0)
        x = (masked - centre) / unit
        fills = {
            "column means": lambda x: np.where(np.isnan(x), 0.0, x),
            "KNNImputer(5)": lambda x: KNNImputer(n_neighbors=5).fit_transform(x),
            "KNNImputer(15, by distance)": lambda x: KNNImputer(n_neighbors=15, weights="distance").fit_transform(x),
            "IterativeImputer": lambda x: IterativeImputer(random_state=0, max_iter=10).fit_transform(x),
        }
        fills["Lace"] = lace
        for peer, fill in fills.items():
            if sys.argv[2:] and not any(word in peer for word in sys.argv[2:]):
                continue
            began = time.perf_counter()
            filled = fill(x)
            if filled.shape != x.shape:
                continue
            error = np.sqrt(np.mean(((filled - (whole - centre) / unit)[hide]) ** 2))
            print(f"{name:<14} {peer:<28} {error:.4f}  ({time.perf_counter() - began:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
