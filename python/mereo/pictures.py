"""Pictures: noise taken away, objects cut out, by random fields in which neighbours that look alike belong together.

Examples
--------
>>> import numpy as np
>>> from mereo.pictures import denoise, segment
>>> clean = np.zeros((24, 24), dtype=np.uint8)
>>> clean[6:18, 6:18] = 255
>>> noisy = np.where(np.random.default_rng(0).random(clean.shape) < 0.05, 255 - clean, clean)
>>> int((noisy != clean).sum()) > int((denoise(noisy).pixels != clean).sum())
True
>>> marks = np.zeros(clean.shape, dtype=np.uint8)
>>> marks[12, 12], marks[1, 1] = 1, 2
>>> bool(((segment(clean, marks).labels == 1) == (clean == 255)).all())
True
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._data import seed_of, threads_of

__all__ = ["Cut", "Denoised", "denoise", "segment"]


class Denoised(NamedTuple):
    """A picture cleaned."""

    pixels: NDArray[np.uint8]
    """Of the shape that was given; pictures of two levels have no channels."""
    coupling: list[float]
    """What neighbours that differ cost, for each channel."""
    noise: list[float]
    """The probability of a flip, or the deviation of the noise in levels of grey, for each channel."""
    energy: float
    kind: str
    """Whether it is the most probable picture: 'exact', or an 'estimate'."""
    probability: NDArray[np.float64] | None
    """Of two levels, how probable the brighter one is."""


class Cut(NamedTuple):
    """A picture in labels."""

    labels: NDArray[np.uint8]
    """Of shape (height, width)."""
    energy: float
    kind: str
    """Whether no other labels have less energy: 'exact', or an 'estimate'."""
    values: list[int]
    """The labels there are."""
    probability: NDArray[np.float64] | None
    """How probable each label is, if it was asked for: of shape (height, width, n_labels)."""


def denoise(
    picture: ArrayLike,
    *,
    n_levels: int | None = None,
    method: str | None = None,
    coupling: float | None = None,
    noise: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Denoised:
    """Clean a picture: pixels agree with their neighbours, noise does not.

    Parameters
    ----------
    picture : array-like of uint8 of shape (height, width) or (height, width, n_channels)
        Colour pictures are cleaned channel by channel.
    n_levels : {2, 256}, optional
        2 is black and white; seen from the picture if None.
    method : {'mean-field', 'cut', 'icm', 'gibbs', 'bp'}, optional
        How; cut for grey pictures and mean field for black and white ones if None.
    coupling : float, optional
        What neighbours that differ cost, in nats; found from the picture if None.
    noise : float, optional
        The probability of a flip, or the deviation of the noise in levels of grey; found from the picture if None.
    random_state : int, RandomState or None, default=None
        The seed of draws.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.

    Returns
    -------
    Denoised
    """
    seen = _pixels(picture)
    made = Denoised(*_native.denoise(seen, n_levels, method, coupling, noise, seed_of(random_state), threads_of(n_jobs)))
    flat = made.pixels.shape[2] == 1 and (np.ndim(picture) == 2 or seen.shape[2] != 1)
    return made._replace(pixels=made.pixels[:, :, 0]) if flat else made


def segment(
    picture: ArrayLike,
    marks: ArrayLike,
    *,
    probability: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Cut:
    """Cut a picture into the labels of a few marked pixels.

    Parameters
    ----------
    picture : array-like of uint8 of shape (height, width) or (height, width, n_channels)
        The picture.
    marks : array-like of uint8 of shape (height, width)
        A label where a pixel is marked, 0 where not; at least two labels.
    probability : bool, default=False
        Whether to tell also how probable each label is.
    random_state : int, RandomState or None, default=None
        The seed of mixtures of colours.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.
    **options
        Choices of the program's `segment`: ``telling`` ('mixtures' or 'regression'), ``method`` ('cut' or 'mean-field'), ``components``, ``clip``,
        ``geodesic``, ``strength``, ``rounds``.

    Returns
    -------
    Cut
    """
    seen = _pixels(picture)
    marked = np.asarray(marks)
    if marked.shape != seen.shape[:2]:
        raise ValueError(f"marks of shape {marked.shape} for a picture of {seen.shape[:2]}")
    flat = np.ascontiguousarray(_bytes(marked, "marks")).ravel()
    chosen = json.dumps(options)
    made = _native.segment(seen, flat, chosen, probability, seed_of(random_state), threads_of(n_jobs))
    return Cut(made[0], made[1], made[2], list(made[3]), made[4])


def _bytes(values: NDArray[Any], what: str) -> NDArray[np.uint8]:
    if values.dtype == np.bool_:
        return values.astype(np.uint8)
    whole = values.astype(np.uint8)
    if values.dtype != np.uint8 and not np.array_equal(whole, values):
        raise ValueError(f"{what} must be whole numbers from 0 to 255")
    return whole


def _pixels(picture: ArrayLike) -> NDArray[np.uint8]:
    pixels = np.asarray(picture)
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or pixels.size == 0:
        raise ValueError(f"a picture must be of shape (height, width) or (height, width, 1 or 3), not {np.shape(picture)}")
    return np.ascontiguousarray(_bytes(pixels, "pixels"))
