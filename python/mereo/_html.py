"""Parts in a notebook, drawn without Matplotlib."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_STATES = 12


def parts_html(estimator: Any) -> str:
    """The states of parts: as pictures if rows are pictures, else as a table of the columns that they say most about."""
    parts = estimator._model.parts
    if parts is None:
        return ""
    _, gate, prior, looks = parts
    picture = estimator.manifest_.get("picture")
    rows = []
    for k in range(min(len(looks), 16)):
        cells = "".join(
            f"<td>{_state(looks[k, j], gate[:, k], picture, estimator)}<br><small>{prior[k, j]:.2f}</small></td>"
            for j in range(min(looks.shape[1], _MOST_STATES))
        )
        rows.append(f"<tr><th>part {k}</th>{cells}</tr>")
    return f"<table class='mereo-parts'>{''.join(rows)}</table>"


def _state(look: NDArray[np.float64], gate: NDArray[np.float64], picture: Any, estimator: Any) -> str:
    if picture is None:
        from html import escape

        names = getattr(estimator, "feature_names_in_", None)
        top = np.argsort(-gate, kind="stable")[:3]
        return "<br>".join(f"{escape(str(names[d] if names is not None else d))} {look[d]:.3g}" for d in top)
    shape = (picture["height"], picture["width"], picture["channels"])
    low, high = float(np.min(look)), float(np.max(look))
    grey = (look - low) / ((high - low) or 1.0)
    shown = grey.reshape(shape) * gate.reshape(shape) / max(float(gate.max()), 1e-12)
    encoded = base64.b64encode(png((255 * np.clip(shown, 0, 1)).astype(np.uint8))).decode()
    return f"<img src='data:image/png;base64,{encoded}' style='width:48px;image-rendering:pixelated'>"


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of pixels ``[height, width, 1 or 3]``."""
    height, width, channels = pixels.shape

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
