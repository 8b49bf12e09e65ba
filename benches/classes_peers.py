"""A kernel machine beside `cargo xtask experiments classes`: the same rows, by pixels and by codes.

Run with scikit-learn after the experiment: `python classes_peers.py target/classes`. For every data set it
prints the accuracy of NuSVC (radial kernel; its width, nu and whether columns are standardised chosen by
three-fold validation on the training rows) on pixels, on the codes that MCVQ found without labels, and on the
pixels that it decodes from these codes alone; mean and spread over seeds. The same folds choose among the
sizes of MCVQ, so that test rows are looked at once.
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
    """Of all files of this kind, the accuracy on test rows of the one that does best on training rows."""
    # States that hardly ever show have chances of next to nothing, which no unit fits.
    load = lambda name: np.load(folder / f"{name}.npy").astype(float).round(6)
    y, truth = load("train-labels").ravel(), load("test-labels").ravel()
    best = (-1.0, None, None)
    for path in sorted(folder.glob(f"train-{what}*.npy")):
        kind = path.stem.removeprefix("train-")
        x, test = load(f"train-{kind}"), load(f"test-{kind}")
        # Columns without variation have no unit.
        keep = x.std(axis=0) > 1e-6
        search = GridSearchCV(make_pipeline(StandardScaler(), NuSVC()), GRID, cv=3, error_score=0.0)
        search.fit(x[:, keep], y)
        if search.best_score_ > best[0]:
            best = (search.best_score_, kind, float((search.predict(test[:, keep]) == truth).mean()))
    print(f"  {folder.name}: {best[1]}")
    return best[2]


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
