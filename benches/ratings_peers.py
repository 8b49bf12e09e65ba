"""Root mean squared errors on MovieLens 100k's official split `u1`: mereo beside scikit-surprise, in one run.

It needs scikit-surprise, which is built against NumPy 1, in an environment of its own:

    python -m venv target/ratings-peers
    target/ratings-peers/bin/pip install 'numpy<2' scikit-surprise
    cargo build --release -p mereo-cli
    target/ratings-peers/bin/python benches/ratings_peers.py

Words as arguments choose among what is tried by name (`SVD`, `bfa`). The peers learn with the settings that their authors chose for
these data (`SVD()`, `SVDpp()`, the defaults), the mean over as many seeds as `SEEDS` says (3), over all 20,000 ratings. MEREO names another program, MEREO_SEED
the seed of ours. Nothing is chosen by what is printed: our settings were chosen on a part of `u1.base` that is held out of it
(`--choose` does that again: it splits `u1.base` into five, learns from four and predicts the fifth).
"""

import csv
import gzip
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "movielens-100k"
MEREO = os.environ.get("MEREO", str(ROOT / "target" / "release" / "mereo"))
SEEDS = int(os.environ.get("SEEDS", "3"))

# What is learned by `mereo fit`.
OURS = {
    "fa 4": ["fa", "--components", "4"],
    "mcvq 5x12": ["mcvq", "--parts", "5", "--states", "12"],
    "bfa 10": ["bfa", "--factors", "10"],
    "bfa 10 ordinal": ["bfa", "--factors", "10", "--ordinal"],
    "average of 3 bfa 10 ordinal": ["bfa", "--factors", "10", "--ordinal", "--average", "3"],
}


def ratings(name):
    with gzip.open(DATA / name, "rt") as file:
        return [line.split("\t")[:3] for line in file]


def chosen(words, name):
    return not words or any(word.lower() in name.lower() for word in words)


def surprise(algorithm, train, test, seed):
    from surprise import Dataset, Reader
    import pandas

    frame = pandas.DataFrame([(u, i, float(r)) for u, i, r in train], columns=["u", "i", "r"])
    data = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
    began = time.perf_counter()
    algorithm = algorithm(random_state=seed).fit(data)
    squares = [(algorithm.predict(u, i).est - float(r)) ** 2 for u, i, r in test]
    return (sum(squares) / len(squares)) ** 0.5, time.perf_counter() - began


def mereo(options, train, test, folder):
    files = {"train.csv": train, "test.csv": test}
    for name, rows in files.items():
        with open(folder / name, "w") as file:
            file.write("user,item,rating\n")
            file.writelines(",".join(row) + "\n" for row in rows)
    model = folder / "model.safetensors"
    seed = os.environ.get("MEREO_SEED", "0")
    began = time.perf_counter()
    fit = [MEREO, "fit", *options, folder / "train.csv", "--seed", seed, "-o", model]
    subprocess.run(fit, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = folder / "told.csv"
    pairs = ["--given", folder / "train.csv", "--pairs", folder / "test.csv", "-o", told]
    subprocess.run([MEREO, "predict", model, *pairs], check=True, capture_output=True)
    seconds = time.perf_counter() - began
    with open(told) as file:
        lines = [row for row in csv.DictReader(file) if row["mean"]]
    guesses = {(row["user"], row["item"]): float(row["mean"]) for row in lines}
    # Nothing is said of items that nobody rated in what was learned from: the user's own mean is all that is known.
    own = defaultdict(list)
    for user, _, rating in train:
        own[user].append(float(rating))
    guess = lambda user, item: guesses.get((user, item), statistics.mean(own[user]))
    squares = [(guess(user, item) - float(rating)) ** 2 for user, item, rating in test]
    return (sum(squares) / len(squares)) ** 0.5, seconds


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    train, test = ratings("u1.base.gz"), ratings("u1.test.gz")
    if "--choose" in sys.argv:
        random.Random(0).shuffle(train)
        cut = len(train) // 5
        train, test = train[cut:], train[:cut]
    else:
        from surprise import SVD, SVDpp

        for algorithm in (SVD, SVDpp):
            if chosen(words, algorithm.__name__):
                found = [surprise(algorithm, train, test, seed) for seed in range(SEEDS)]
                error = statistics.mean(error for error, _ in found)
                seconds = statistics.mean(seconds for _, seconds in found)
                print(f"{'surprise ' + algorithm.__name__:<32} {error:.4f} {seconds:8.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in OURS.items():
            if chosen(words, name):
                error, seconds = mereo(options, train, test, pathlib.Path(folder))
                print(f"{'mereo ' + name:<32} {error:.4f} {seconds:8.1f} s", flush=True)


if __name__ == "__main__":
    main()
