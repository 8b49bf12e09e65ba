"""Densities: a mixture, one with tails, and layers of mixtures, by held-out log likelihood."""

import numpy as np

from mereo import DeepGMM, GaussianMixture, StudentMixture

random = np.random.default_rng(0)
X = random.standard_t(3, size=(1500, 4)) + 6.0 * random.integers(0, 2, size=(1500, 1))
train, test = X[:1000], X[1000:]

with open("densities.txt", "w") as file:
    for model in (
        GaussianMixture(n_components=2, random_state=0),
        StudentMixture(n_components=2, random_state=0),
        DeepGMM(layers=(2, 2), max_iter=30, random_state=0),
    ):
        held_out = model.fit(train).score(test)
        print(f"{type(model).__name__}: {held_out:.3f} nats a row")
        file.write(f"{type(model).__name__} {held_out:.4f}\n")
