"""Statistics that compare features with their knockoffs: swapping X_j and X̃_j flips the sign of W_j."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV, lars_path
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from neuralmirror._internal.standardised import standardised

Array = NDArray[np.float64]
Magnitudes = Callable[[Array, NDArray[Any], np.random.Generator], Array]

FOLDS = 5
# A third of the columns at each node, since most are irrelevant, and leaves of five rows, which are faster to reach.
FOREST: dict[str, Any] = {"n_estimators": 200, "max_features": 1 / 3, "min_samples_leaf": 5, "n_jobs": 1}


def difference(original: Array, knockoff: Array) -> Array:
    """|a| − |b| for magnitudes a of the features and b of the knockoffs."""
    return np.asarray(original - knockoff)


def signed_max(original: Array, knockoff: Array) -> Array:
    """The larger magnitude, with the sign of who has it."""
    return np.asarray(np.maximum(original, knockoff) * np.sign(original - knockoff))


def pair_magnitudes(
    X: Array, X_knock: Array, y: NDArray[Any], rng: np.random.Generator, magnitudes: Magnitudes
) -> tuple[Array, Array]:
    """The magnitudes of X and of X̃ in one fit that sees each pair in random order.

    The coin makes X_j and X̃_j exchangeable to the solver, whatever its tolerance and order of updates.
    """
    _check_pairs(X, X_knock)
    flip = rng.random(X.shape[1]) < 0.5
    design = np.hstack([np.where(flip, X_knock, X), np.where(flip, X, X_knock)])  # (n, 2p)
    first, second = np.split(magnitudes(standardised(design), y, rng), 2)
    return np.where(flip, second, first), np.where(flip, first, second)


def lasso_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """|β| of the lasso, λ by cross-validation."""
    with threadpool_limits(1, user_api="blas"):  # its products are too small to share
        chosen = lasso_penalty(design, y, KFold(FOLDS, shuffle=True, random_state=_seed(rng)))
        return np.asarray(np.abs(Lasso(chosen, tol=1e-7, max_iter=10_000).fit(design, y).coef_))


def lasso_penalty(design: Array, y: NDArray[Any], folds: KFold) -> float:
    """λ of the least cross-validated error, within 2.5 decades below λ_max.

    The dense end of the path takes most of its time, and a weak signal never chooses it. So the first decade comes
    first, and its answer stands unless it lies in the last quarter, where rounding may have stopped the descent.
    """
    largest = np.abs(design.T @ (y - y.mean())).max() / len(y)
    for depths in (np.linspace(0, 1, 25), np.linspace(0.75, 2.5, 43)):
        # A loose tolerance suffices to choose λ.
        search = LassoCV(cv=folds, alphas=largest * 10**-depths, tol=1e-3, max_iter=10_000).fit(design, y)
        if search.alpha_ > largest * 10**-0.75:
            break
    return float(search.alpha_)


def over_columns(magnitudes: Magnitudes) -> Magnitudes:
    """Magnitudes for a response of several columns (n, q): the norm over one fit for each."""

    def norm(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
        return np.asarray(np.linalg.norm([magnitudes(design, column, rng) for column in y.T], axis=0))

    return norm


def correlation_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """|cor(X_j, y)|, which needs no `rng`."""
    return np.asarray(np.abs(standardised(np.asarray(y, dtype=np.float64)) @ standardised(design)) / len(y))


def ridge_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """|β| of ridge regression, λ by leave-one-out, which needs no `rng`."""
    return np.asarray(np.abs(RidgeCV(len(y) * np.logspace(-4, 2, 25)).fit(design, y).coef_))


def logistic_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """‖β_j·‖ over the classes of l1-penalised (multinomial) logistic regression, λ by cross-validation."""
    chosen = LogisticRegressionCV(
        Cs=logistic_grid(design, y),
        l1_ratios=(1.0,),
        solver="saga",
        scoring="neg_log_loss",
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=_seed(rng)),
        tol=1e-2,
        max_iter=1000,
        random_state=_seed(rng),
        use_legacy_attributes=False,
    ).fit(design, y)
    model = LogisticRegression(
        C=chosen.C_, l1_ratio=1.0, solver="saga", tol=1e-4, max_iter=10_000, random_state=_seed(rng)
    )
    return np.asarray(np.linalg.norm(model.fit(design, y).coef_, axis=0))


def logistic_grid(design: Array, y: NDArray[Any]) -> Array:
    """Ten C = 1/λ from λ_max = max|Xᵀ(Y − Ȳ)|, where the first coefficient enters, down to λ_max/100."""
    indicators = (np.asarray(y)[:, None] == np.unique(y)).astype(np.float64)  # (n, classes)
    largest = np.abs(design.T @ (indicators - indicators.mean(axis=0))).max()
    return np.asarray(np.logspace(0, 2, 10) / largest)


def entry_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """sup{λ : β_j(λ) ≠ 0} on the exact lasso path, which needs no `rng`; 0 if a column never enters."""
    penalties, _, path = lars_path(design, np.asarray(y, dtype=np.float64) - np.mean(y), method="lasso")
    inside = path != 0  # (2p, knots)
    before = np.maximum(inside.argmax(axis=1) - 1, 0)  # zero at the knot of entry, non-zero at the next
    return np.where(inside.any(axis=1), penalties[before], 0.0)


def forest_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """The impurity importances of a random forest for numbers: they see curves and interactions of any form."""
    return _importances(RandomForestRegressor(**FOREST, random_state=_seed(rng)), design, y)


def class_forest_magnitudes(design: Array, y: NDArray[Any], rng: np.random.Generator) -> Array:
    """The impurity importances of a random forest for classes."""
    return _importances(RandomForestClassifier(**FOREST, random_state=_seed(rng)), design, y)


def _importances(forest: Any, design: Array, y: NDArray[Any]) -> Array:
    return np.asarray(forest.fit(design, y).feature_importances_, dtype=np.float64)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _check_pairs(X: Array, X_knock: Array) -> None:
    if X.shape != X_knock.shape:
        raise ValueError(f"X and its knockoffs must have one shape, got {X.shape} and {X_knock.shape}.")
