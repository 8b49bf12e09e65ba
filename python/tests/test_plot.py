"""Plots are drawn for every kind of model that has what they show."""

from __future__ import annotations

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from mereo import MCFA, MCVQ, PCA, GaussianMixture, plot  # noqa: E402
from mereo.datasets import toy  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def drawn(figure):
    figure.canvas.draw()
    assert figure.axes
    return figure


def test_pictures_and_numbers_are_drawn(rows):
    world = toy("shapes", n_rows=150)
    pictures = MCVQ(n_parts=3, n_states=4, n_init=1, max_iter=3, picture=world.picture).fit(world.data)
    numbers = MCVQ(n_parts=2, n_states=2, n_init=1).fit(rows)
    factors = MCFA(n_parts=2, n_factors=1, n_init=1, max_iter=3).fit(rows)
    for model, X in ((pictures, world.data), (numbers, rows), (factors, rows)):
        for draw in (plot.parts, plot.gates, plot.profiles, plot.convergence):
            drawn(draw(model))
        drawn(plot.reconstructions(model, X, n_rows=3))
    drawn(plot.parts(GaussianMixture(n_components=2, n_init=1).fit(rows)))


def test_classes_and_maps_are_drawn(rows):
    y = np.nan_to_num(rows[:, 0]) > 0.5
    model = MCVQ(n_parts=2, n_states=2, n_classes="labels", n_init=1).fit(rows, np.where(y, "yes", "no"))
    drawn(plot.class_priors(model))
    drawn(plot.map(rows[:, [0, 2]], y))
    with pytest.raises(ValueError, match="no parts"):
        plot.parts(PCA(n_components=1).fit(rows))
    with pytest.raises(ValueError, match="no classes"):
        plot.class_priors(MCVQ(n_parts=2, n_states=2, n_init=1).fit(rows))
