"""A kernel machine beside `cargo xtask experiments classes`: the same rows, by pixels and by codes.

Run with scikit-learn after the experiment: `python classes_peers.py target/classes`. For every data set it
prints the accuracy of NuSVC (radial kernel; its width, nu and whether columns are standardised chosen by
three-fold validation on the training rows) on pixels, on the codes that MCVQ found without labels, and on the
pixels that it decodes from these codes alone; mean and spread over seeds.
"""

import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC

GRID = {
    "standardscaler": [StandardScaler(), "passthrough"],
    "nusvc__nu": [0.05, 0.1],
    "nusvc__gamma": ["scale", 0.01],
}


def accuracy(folder, what):
    # States that hardly ever show have chances of next to nothing, which no unit fits.
    load = lambda name: np.load(folder / f"{name}.npy").astype(float).round(6)
    # Columns without variation have no unit.
    x, test = load(f"train-{what}"), load(f"test-{what}")
    keep = x.std(axis=0) > 1e-6
    y, truth = load("train-labels").ravel(), load("test-labels").ravel()
    search = GridSearchCV(make_pipeline(StandardScaler(), NuSVC()), GRID, cv=3, error_score=0.0)
    search.fit(x[:, keep], y)
    return float((search.predict(test[:, keep]) == truth).mean())


def main():
    warnings.filterwarnings("ignore")
    found = defaultdict(list)
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        name = folder.name.rsplit("-", 1)[0]
        for what in ["pixels", "codes", "decoded"]:
            found[name, what].append(accuracy(folder, what))
    for (name, what), all_of in found.items():
        print(f"{name:<12} NuSVC on {what:<8} {np.mean(all_of):.4f} ({np.std(all_of):.4f})")


if __name__ == "__main__":
    main()
