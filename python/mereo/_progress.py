"""What learning says while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO


class Bar:
    """One line on standard error that follows the passes."""

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self.name = name
        self.stream = stream or sys.stderr
        self.width = 0

    def __call__(self, record: dict[str, Any]) -> None:
        """Show where learning is."""
        text = f"{self.name}: start {record['restart'] + 1} of {record['restarts']}"
        if "pass" in record:
            full = round(20 * min(1.0, record["pass"] / max(1, record["passes"])))
            bar = "#" * full + "-" * (20 - full)
            text += f" [{bar}] pass {record['pass']} of {record['passes']}, bound {record['bound']:.6g}"
        self._show(text)

    def close(self) -> None:
        """End the line."""
        if self.width:
            self.stream.write("\n")
            self.stream.flush()

    def _show(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self.width))
        self.stream.flush()
        self.width = max(self.width, len(text))


def observer(
    bar: Bar | None, callback: Callable[[dict[str, Any]], Any] | None
) -> Callable[[dict[str, Any]], Any] | None:
    """What is told of every pass, if anybody wants to know."""
    if bar is None and callback is None:
        return None

    def told(record: dict[str, Any]) -> Any:
        if bar is not None:
            bar(record)
        # The callback hears of passes, not of starts that are about to be made.
        return callback(record) if callback is not None and "pass" in record else None

    return told
