"""Written by `python -m mereo._stubs`; a test says if it is old."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ._estimator import Estimator as Estimator
from ._estimator import load as load
from ._estimator import partial_fit as partial_fit
from ._impute import Imputer as Imputer
from ._native import __version__ as __version__

MODELS: dict[str, type[Estimator]]


class MCVQ(Estimator):
    def __init__(
        self,
        *,
        n_parts: int | Literal["auto"] = ...,
        n_states: int | Literal["auto"] = ...,
        choose_by: Literal["description-length", "held-out"] = ...,
        gate: Literal["standard", "annealed", "r-tied", "factorised"] = ...,
        warm: int | None = ...,
        entropic: float = ...,
        engine: Literal["variational", "gibbs"] = ...,
        n_sweeps: int | None = ...,
        variance_floor: float = ...,
        n_scouts: int = ...,
        shrinkage: float | None = ...,
        n_classes: int | Literal["labels"] | None = ...,
        class_pseudo_count: float = ...,
        pseudo_count: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class MCFA(Estimator):
    def __init__(
        self,
        n_parts: int,
        n_factors: int,
        *,
        gate: Literal["standard", "annealed", "r-tied", "factorised"] = ...,
        warm: int | None = ...,
        entropic: float = ...,
        noise_floor: float = ...,
        n_scouts: int = ...,
        shrinkage: float | None = ...,
        bayesian: bool | None = ...,
        n_classes: int | Literal["labels"] | None = ...,
        class_pseudo_count: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class KMeans(Estimator):
    def __init__(
        self,
        n_states: int,
        *,
        variance_floor: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class GaussianMixture(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        covariance: Literal["spherical", "diagonal", "tied", "full", "low-rank"] = ...,
        n_factors: int = ...,
        hard: bool = ...,
        variance_floor: float | None = ...,
        shrinkage: float | None = ...,
        pseudo_count: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class StudentMixture(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        variance_floor: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class DeepGMM(Estimator):
    def __init__(
        self,
        layers: Sequence[int],
        *,
        layer_kind: Sequence[Literal["full", "scale", "diagonal", "orthogonal"]] | None = ...,
        em: Literal["hard", "soft"] = ...,
        search: Literal["full", "coordinate"] = ...,
        factorised: bool = ...,
        n_sweeps: int = ...,
        m_step: Literal["auto", "lbfgs", "kronecker"] = ...,
        n_steps: int = ...,
        variance_floor: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class PCA(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        whiten: bool = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class PPCA(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        variance_floor: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class FactorAnalysis(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        rotation: Literal["principal", "varimax"] = ...,
        variance_floor: float = ...,
        shrinkage: float | None = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class NMF(Estimator):
    def __init__(
        self,
        n_components: int,
        *,
        loss: Literal["kl", "frobenius"] = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class GVQ(Estimator):
    def __init__(
        self,
        n_features: int,
        *,
        n_sets: int = ...,
        penalty: float = ...,
        binary: bool = ...,
        beta: float | None = ...,
        association: Literal["auto", "exact", "bp", "br", "mf", "gibbs", "dbp", "dbr", "local"] = ...,
        n_scouts: int = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class CVQ(Estimator):
    def __init__(
        self,
        n_parts: int,
        n_states: int,
        *,
        inference: Literal["mean-field", "gibbs", "local"] = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class AspectModel(Estimator):
    def __init__(
        self,
        *,
        n_aspects: int = ...,
        tempering: float = ...,
        smoothing: float = ...,
        shrinkage: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class URP(Estimator):
    def __init__(
        self,
        *,
        n_profiles: int = ...,
        shrinkage: float = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class BFA(Estimator):
    def __init__(
        self,
        n_factors: int,
        *,
        noise_rows: float = ...,
        chosen_rows: float = ...,
        ordinal: bool = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class AutoEncoder(Estimator):
    def __init__(
        self,
        *,
        code: int | None = ...,
        encoder: str | None = ...,
        decoder: str | None = ...,
        loss: Literal["squared", "cross-entropy"] = ...,
        noise: str | None = ...,
        emphasis: float = ...,
        stacked: bool = ...,
        classes: Literal["labels"] | None = ...,
        n_codebooks: int = ...,
        n_entries: int = ...,
        n_epochs: int | None = ...,
        batch: int = ...,
        optimiser: Literal["adam", "sgd"] = ...,
        rate: float = ...,
        momentum: float = ...,
        schedule: Literal["constant", "linear", "cosine", "steps"] = ...,
        weight_decay: float = ...,
        held_out: float = ...,
        patience: int = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any

class VAE(Estimator):
    def __init__(
        self,
        *,
        code: int | None = ...,
        encoder: str | None = ...,
        decoder: str | None = ...,
        decoder_kind: Literal["own", "gaussian", "bernoulli"] = ...,
        variance: Literal["learned", "unit"] = ...,
        variance_floor: float = ...,
        binarise: bool = ...,
        n_draws: int = ...,
        importance: int = ...,
        warm: int = ...,
        n_epochs: int | None = ...,
        batch: int = ...,
        optimiser: Literal["adam", "sgd"] = ...,
        rate: float = ...,
        momentum: float = ...,
        schedule: Literal["constant", "linear", "cosine", "steps"] = ...,
        weight_decay: float = ...,
        held_out: float = ...,
        patience: int = ...,
        n_init: int = ...,
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
    gate_: Any
    means_: Any
    components_: Any
    weights_: Any
