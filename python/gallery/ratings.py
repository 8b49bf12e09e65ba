"""Ratings: a film that was not rated is not a film rated 0."""

import numpy as np
from scipy.sparse import csr_array

from mereo import MCVQ, plot
from mereo.datasets import toy

X = toy("ratings", n_rows=400).data
rows, columns = np.nonzero(~np.isnan(X))
ratings = csr_array((X[rows, columns], (rows, columns)), shape=X.shape)

model = MCVQ(n_parts=3, n_states=3, n_init=1, max_iter=20, random_state=0, missing="unobserved").fit(ratings)
wished = model.reconstruct(ratings)
wished[rows, columns] = -np.inf
print("what the first five people should see next:", wished[:5].argmax(axis=1))
plot.gates(model).savefig("ratings.png")
