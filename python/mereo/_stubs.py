"""The package's type stub, written from the registration: ``python -m mereo._stubs`` prints it."""

from __future__ import annotations

from . import _registration

_TYPES = {"count": "int", "number": "float", "flag": "bool", "counts": "Sequence[int]", "text": "str"}

_HEAD = '''"""Written by `python -m mereo._stubs`; a test says if it is old."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ._estimator import Estimator as Estimator
from ._estimator import load as load
from ._estimator import partial_fit as partial_fit
from ._impute import Imputer as Imputer
from ._native import __version__ as __version__

MODELS: dict[str, type[Estimator]]
'''

_COMMON = """        n_init: int = ...,
        max_iter: int = ...,
        tol: float = ...,
        random_state: Any = ...,
        n_average: int = ...,
        n_jobs: int | None = ...,
        verbose: bool = ...,
        callback: Callable[[dict[str, Any]], Any] | None = ...,
        missing: Literal["unobserved", "zero"] | None = ...,
        picture: tuple[int, ...] | None = ...,
    ) -> None: ...
"""


def _type_of(param: _registration.Param) -> str:
    words = ", ".join(f'"{word}"' for word in param.choices if word != "none")
    shown = {
        "choice": f"Literal[{words}]",
        "count-or": f"int | Literal[{words}]",
        "choices": f"Sequence[Literal[{words}]]",
    }.get(param.kind) or _TYPES[param.kind]
    return shown if param.required or param.default is not None else f"{shown} | None"


def text() -> str:
    """The stub."""
    lines = [_HEAD]
    for kind in _registration.kinds():
        lines.append(f"\nclass {kind.class_name}(Estimator):")
        lines.append("    def __init__(\n        self,")
        lines += [f"        {p.name}: {_type_of(p)}," for p in kind.params if p.required]
        lines.append("        *,")
        lines += [f"        {p.name}: {_type_of(p)} = ...," for p in kind.params if not p.required]
        lines.append(_COMMON.rstrip())
        for name in ("gate", "means", "components", "weights"):
            lines.append(f"    {name}_: Any")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(text(), end="")
