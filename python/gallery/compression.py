"""Compression: rows said with a few binary features, or with states of codebooks that add up."""

import numpy as np

from mereo import CVQ, GVQ, KMeans
from mereo.datasets import toy

X = toy("shapes", n_rows=300).data

with open("compression.txt", "w") as file:
    for model, bits in (
        (KMeans(n_states=16, random_state=0), 4.0),
        (CVQ(n_parts=2, n_states=4, n_init=1, random_state=0), 4.0),
        (GVQ(n_features=4, n_init=1, random_state=0), 4.0),
    ):
        error = np.sqrt(np.mean((X - model.fit(X).reconstruct(X)) ** 2))
        print(f"{type(model).__name__}: {bits:.0f} bits a row, error {error:.3f}")
        file.write(f"{type(model).__name__} {error:.4f}\n")
