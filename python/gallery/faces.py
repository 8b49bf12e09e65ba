"""Faces come apart into hair, brows, eyes, nose and mouth."""

from mereo import MCVQ, plot
from mereo.datasets import toy

world = toy("faces", n_rows=400)
model = MCVQ(n_parts=5, n_states=4, n_init=1, random_state=0, picture=world.picture).fit(world.data)

plot.parts(model).savefig("parts.png")
plot.gates(model).savefig("gates.png")
plot.reconstructions(model, world.data).savefig("reconstructions.png")
plot.convergence(model).savefig("convergence.png")
model.report("faces.html", world.data[:50])
