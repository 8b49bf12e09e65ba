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
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._data import seed_of, threads_of

__all__ = ["Colours", "Cut", "Denoised", "denoise", "segment"]


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
    error: str = "squared",
    truncate: int | None = None,
    potts: bool = False,
    clean: Sequence[ArrayLike] = (),
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
    error : {'squared', 'absolute'}, default='squared'
        What noise costs in grey pictures: its square, or its magnitude, so that pixels may be far off.
    truncate : int, optional
        Neighbours in grey pictures cost at most this many levels of difference.
    potts : bool, default=False
        Whether neighbours in grey pictures cost the same, however much they differ.
    clean : sequence of pictures, default=()
        Clean pictures like this one, to learn the coupling from.
    random_state : int, RandomState or None, default=None
        The seed of draws.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.

    Returns
    -------
    Denoised
    """
    seen = _pixels(picture)
    if coupling is not None and len(clean) > 0:
        raise ValueError("coupling is learned from clean pictures, or told: not both")
    if potts and truncate is not None:
        raise ValueError("truncate is for differences, and with potts there are none")
    options: dict[str, Any] = {"coupling": coupling, "noise": noise, "error": error}
    if potts or truncate is not None:
        options["shape"] = "potts" if potts else {"differences": truncate}
    pictures = [_pixels(one) for one in clean]
    made = Denoised(
        *_native.denoise(seen, n_levels, method, json.dumps(options), pictures, seed_of(random_state), threads_of(n_jobs))
    )
    flat = made.pixels.shape[2] == 1 and (np.ndim(picture) == 2 or seen.shape[2] != 1)
    return made._replace(pixels=made.pixels[:, :, 0]) if flat else made


def segment(
    picture: ArrayLike,
    marks: ArrayLike | None = None,
    *,
    colours: Colours | None = None,
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
    marks : array-like of uint8 of shape (height, width), optional
        A label where a pixel is marked, 0 where not; at least two labels. With ``colours`` there need not be any.
    colours : Colours, optional
        What tells labels, learned from other pictures.
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
    if marks is None and colours is None:
        raise ValueError("marks, colours or both are needed: something must tell labels apart")
    flat = None if marks is None else _labels(marks, seen, "marks")
    told = None if colours is None else colours._native
    made = _native.segment(seen, flat, told, json.dumps(options), probability, seed_of(random_state), threads_of(n_jobs))
    return Cut(made[0], made[1], made[2], list(made[3]), made[4])


class Colours:
    """What tells the labels of pixels, learned from pictures and used on others.

    Attributes
    ----------
    values : list of int
        The labels that are told apart.
    strength : float or None
        How strongly neighbours that look alike are coupled, if it was learned.

    Examples
    --------
    >>> import numpy as np
    >>> from mereo.pictures import Colours, segment
    >>> pixels = np.full((20, 20), 40, dtype=np.uint8)
    >>> pixels[:, :8] = 200
    >>> colours = Colours.of_pictures([pixels], [np.where(pixels == 200, 1, 2)])
    >>> bool(((segment(pixels.T, colours=colours).labels == 1) == (pixels.T == 200)).all())
    True
    """

    def __init__(self, native: _native.Colours) -> None:
        self._native = native
        self.values: list[int] = list(native.values)
        self.strength: float | None = native.strength

    @classmethod
    def of_cut(
        cls, picture: ArrayLike, labels: ArrayLike, *, random_state: Any = None, n_jobs: int | None = None, **options: Any
    ) -> Colours:
        """Learn from a picture that was cut, for the next one: what the program's `segment --save` keeps.

        Parameters
        ----------
        picture : array-like of uint8 of shape (height, width) or (height, width, n_channels)
            The picture.
        labels : array-like of uint8 of shape (height, width)
            A label for each pixel, as `segment` gives them.
        random_state : int, RandomState or None, default=None
            The seed of mixtures of colours.
        n_jobs : int or None, default=None
            Threads: None is 1, -1 all cores.
        **options
            ``telling`` and ``components``, as for `segment`.
        """
        seen = _pixels(picture)
        flat = _labels(labels, seen, "labels")
        made = _native.Colours.of_picture(seen, flat, json.dumps(options), seed_of(random_state), threads_of(n_jobs))
        return cls(made)

    @classmethod
    def of_pictures(
        cls,
        pictures: Sequence[ArrayLike],
        labels: Sequence[ArrayLike],
        *,
        ignore: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Colours:
        """Learn from pictures with label pictures, by a regression on features around pixels.

        Parameters
        ----------
        pictures : sequence of array-like
            The pictures.
        labels : sequence of array-like of uint8 of shape (height, width)
            The label of each pixel of each picture.
        ignore : int, optional
            A label that does not count; 128 if there are only 0, 128 and 255.
        random_state : int, RandomState or None, default=None
            The seed of everything random.
        n_jobs : int or None, default=None
            Threads: None is 1, -1 all cores.
        """
        seen = [_pixels(picture) for picture in pictures]
        pairs = [(one, _labels(own, one, "labels")) for one, own in zip(seen, labels, strict=True)]
        return cls(_native.Colours.of_examples(pairs, ignore, seed_of(random_state), threads_of(n_jobs)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Colours:
        """Open a model file of `save`, or of the program's `segment --save`."""
        return cls(_native.Colours.open(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which the program's `segment --model` takes."""
        self._native.save(os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _colours, (self._native.to_bytes(),)

    def __repr__(self) -> str:
        return f"<colours of the labels {self.values}>"


def _colours(content: bytes) -> Colours:
    return Colours(_native.Colours.from_bytes(content))


def _labels(labels: ArrayLike, picture: NDArray[np.uint8], what: str) -> NDArray[np.uint8]:
    own = np.asarray(labels)
    if own.shape != picture.shape[:2]:
        raise ValueError(f"{what} of shape {own.shape} for a picture of {picture.shape[:2]}")
    return np.ascontiguousarray(_bytes(own, what)).ravel()


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
