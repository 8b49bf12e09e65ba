"""Pictures of models, with Matplotlib.

Every function draws on axes, or on a figure of its own, and returns the figure.

Examples
--------
>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from mereo import MCVQ, plot
>>> from mereo.datasets import toy
>>> world = toy("shapes", n_rows=200)
>>> model = MCVQ(n_parts=3, n_states=4, n_init=1, max_iter=3, picture=world.picture).fit(world.data)
>>> len(plot.parts(model).axes)
12
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_priors", "convergence", "gates", "map", "parts", "profiles", "reconstructions"]


def _figure(rows: int, columns: int, size: float = 1.2) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows, columns, figsize=(max(3.0, size * columns), max(2.0, size * rows + 0.4)), squeeze=False, layout="constrained"
    )
    return figure, axes


def _axes(ax: Any) -> tuple[Any, Any]:
    if ax is not None:
        return ax.figure, ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(5.0, 3.2), layout="constrained")


def _picture(model: Any) -> tuple[int, int, int] | None:
    shape = model.manifest_.get("picture")
    return None if shape is None else (shape["height"], shape["width"], shape["channels"])


def _names(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [str(d) for d in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def _parts(model: Any) -> tuple[str, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    view = model._model.parts
    if view is None:
        members, name = model._model.members, type(model).__name__
        shown = f"an average of {members} {name} models" if members else f"a {name}"
        raise ValueError(f"{shown} has no parts to draw")
    return view


def _show(ax: Any, look: NDArray[Any], picture: tuple[int, int, int], low: float, high: float, alpha: Any = None) -> None:
    height, width, channels = picture
    if channels == 3:
        ax.imshow(np.clip((look - low) / ((high - low) or 1.0), 0, 1).reshape(picture))
    else:
        alpha = None if alpha is None else np.clip(alpha.reshape(height, width), 0, 1)
        ax.imshow(look.reshape(height, width), cmap="gray", vmin=low, vmax=high, alpha=alpha)
    ax.set_xticks([])
    ax.set_yticks([])


def parts(model: Any, *, n_states: int = 12) -> Any:
    """Parts and their states: pictures if rows are pictures, else bars of the columns that each part has most of.

    Parameters
    ----------
    model : fitted estimator
        One with parts, states or components.
    n_states : int, default=12
        Most states of each part that are drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    looks, gate, prior, mean = _parts(model)
    shown = min(n_states, mean.shape[1])
    figure, axes = _figure(len(mean), shown)
    picture, names = _picture(model), _names(model)
    low, high = float(mean.min()), float(mean.max())
    for k in range(len(mean)):
        top = np.argsort(-gate[:, k], kind="stable")[:6][::-1]
        for j in range(shown):
            ax = axes[k, j]
            if picture is not None:
                _show(ax, mean[k, j], picture, low, high, gate[:, k] / max(gate[:, k].max(), 1e-12))
            else:
                # Columns that belong to other parts are pale.
                shades = [(0.3, 0.47, 0.66, 0.15 + 0.85 * float(np.clip(gate[d, k], 0, 1))) for d in top]
                ax.barh(range(len(top)), mean[k, j, top], color=shades)
                ax.set_yticks(range(len(top)), [names[d] for d in top] if j == 0 else [""] * len(top), fontsize=7)
                ax.tick_params(axis="x", labelsize=6)
            if looks != "factors":
                ax.set_title(f"{prior[k, j]:.2f}", fontsize=7)
        axes[k, 0].set_ylabel(f"part {k}")
    return figure


def gates(model: Any) -> Any:
    """How strongly each column belongs to each part."""
    _, gate, _, _ = _parts(model)
    picture = _picture(model)
    if picture is None or picture[2] != 1:
        figure, ax = _axes(None)
        image = ax.imshow(gate.T, aspect="auto", vmin=0, vmax=1, cmap="viridis", interpolation="nearest")
        ax.set_xlabel("column")
        ax.set_ylabel("part")
        ax.set_yticks(range(gate.shape[1]))
        if len(gate) <= 30:
            ax.set_xticks(range(len(gate)), _names(model), rotation=90, fontsize=7)
        figure.colorbar(image, label="gate")
        return figure
    figure, axes = _figure(1, gate.shape[1])
    for k, ax in enumerate(axes[0]):
        ax.imshow(gate[:, k].reshape(picture[:2]), vmin=0, vmax=1, cmap="viridis")
        ax.set_title(f"part {k}", fontsize=8)
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def reconstructions(model: Any, X: Any, *, n_rows: int = 8) -> Any:
    """Rows, and below them what the model makes of them."""
    rows = np.asarray(X)[:n_rows]
    made = model.reconstruct(X[:n_rows])
    picture = _picture(model)
    figure, axes = _figure(2, len(rows))
    low, high = float(np.nanmin(rows)), float(np.nanmax(rows))
    for i in range(len(rows)):
        for ax, row in ((axes[0, i], rows[i]), (axes[1, i], made[i])):
            if picture is not None:
                _show(ax, row, picture, low, high)
            else:
                ax.plot(row, lw=1)
                ax.set_ylim(low, high)
                ax.tick_params(labelsize=6)
    axes[0, 0].set_ylabel("rows")
    axes[1, 0].set_ylabel("made")
    return figure


def class_priors(model: Any, *, ax: Any = None) -> Any:
    """How likely each state is in each class."""
    if not hasattr(model, "class_prior_"):
        raise ValueError(f"this {type(model).__name__} has no classes")
    figure, ax = _axes(ax)
    prior = model.state_prior_ if hasattr(model, "state_prior_") else model.factor_mean_
    names = [str(name) for name in model.classes_]
    image = ax.imshow(prior.reshape(len(prior), -1), aspect="auto", cmap="magma")
    for k in range(1, prior.shape[1]):
        ax.axvline(k * prior.shape[2] - 0.5, color="white", lw=1)
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks([(k + 0.5) * prior.shape[2] - 0.5 for k in range(prior.shape[1])], [f"part {k}" for k in range(prior.shape[1])])
    figure.colorbar(image)
    return figure


def profiles(model: Any, *, ax: Any = None, n_states: int = 8) -> Any:
    """What each state says of each column: lines over the columns."""
    _, gate, _, mean = _parts(model)
    figure, ax = _axes(ax)
    for k in range(len(mean)):
        own = np.where(gate[:, k] >= gate.max(axis=1) - 1e-12, 1.0, np.nan)
        for j in range(min(n_states, mean.shape[1])):
            ax.plot(own * mean[k, j], color=f"C{k % 10}", alpha=0.7, lw=1, marker=".", label=f"part {k}" if j == 0 else None)
    if len(gate) <= 30:
        ax.set_xticks(range(len(gate)), _names(model), rotation=90, fontsize=7)
    ax.set_xlabel("column")
    ax.set_ylabel("mean")
    ax.legend(fontsize=7)
    return figure


def convergence(model: Any, *, ax: Any = None) -> Any:
    """The bound at each pass of each start."""
    figure, ax = _axes(ax)
    training = model.manifest_["training"]
    weight = training.get("weight") or training["rows"]
    for number, bounds in enumerate(model.bounds_):
        best = number == training["best"]
        ax.plot(np.asarray(bounds) / weight, color="C0" if best else "0.7", lw=2 if best else 1, zorder=2 if best else 1)
    ax.set_xlabel("pass")
    ax.set_ylabel("bound, nats a row")
    return figure


def map(points: Any, labels: Any = None, *, ax: Any = None) -> Any:
    """Rows on a page: a map, or points ``[n, 2]``, coloured by their labels."""
    figure, ax = _axes(ax)
    points = np.asarray(getattr(points, "points", points))
    if labels is None:
        ax.scatter(points[:, 0], points[:, 1], s=6)
    else:
        labels = np.asarray(labels)
        for number, name in enumerate(dict.fromkeys(labels.tolist())):
            own = labels == name
            ax.scatter(points[own, 0], points[own, 1], s=6, color=f"C{number % 10}", label=str(name))
        if len(set(labels.tolist())) <= 12:
            ax.legend(fontsize=7)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    return figure
