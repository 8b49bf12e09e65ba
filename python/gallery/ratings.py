"""Ratings: a film that was not rated is not a film rated 0."""

import numpy as np
from scipy.sparse import csr_array

from mereo import MCVQ, plot
from mereo.datasets import toy
from mereo.ratings import ask, predict, recommend

X = toy("ratings", n_rows=400).data
rows, columns = np.nonzero(~np.isnan(X))
ratings = csr_array((X[rows, columns], (rows, columns)), shape=X.shape)

model = MCVQ(n_parts=3, n_states=3, n_init=1, max_iter=20, random_state=0, missing="unobserved").fit(ratings)
for person, best in enumerate(recommend(model, ratings[:5], n_items=1)):
    why = ", ".join(f"{own['title']} {own['rating']:.0f}" for own in best[0]["because"])
    print(f"person {person} should see {best[0]['title']}: {best[0]['mean']:.1f} ± {best[0]['deviation']:.1f}, for {why}")
me = {0: 5.0, 1: 1.0}
question = ask(model, me)
print(f"and somebody who liked 0 and not 1 is asked about {question['title']}")
print(f"what may they think of 2? {predict(model, me, [2])[0]['levels']}")
plot.gates(model).savefig("ratings.png")
