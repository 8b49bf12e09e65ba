"""``python -m mereo`` is the program ``mereo``."""

from __future__ import annotations

import sys

from . import _native


def main() -> int:
    """Run the program with this process's arguments."""
    return _native.run_program(["mereo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
