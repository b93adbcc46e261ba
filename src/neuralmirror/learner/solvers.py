"""Cross-validated lassos: one after the other by coordinate descent, or many as one batch on a GPU.

    argmin ‖y − Dθ‖²/2n + λ Σ |θ_j|/w_j          with λ by five-fold cross-validation

Both solvers follow the same penalties on the same folds. Who needs lassos writes a generator that yields a task and is
sent its fit; `solve` runs many such generators in step, so that their tasks go to the solver together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from torch import Tensor

from neuralmirror.learner.proximal import RECORDED, curvatures, folded_lassos

Floats = NDArray[np.float64]
T = TypeVar("T")

FOLDS = KFold(5, shuffle=True, random_state=0)
PENALTIES = 15  # on each part of the path
TURNS = (1.0, 0.1, 0.01, 0.001)  # where its parts end, as shares of the smallest penalty that kills all coefficients
FLAT = 1.02  # how near to its minimum the error must still be at the end of a part to follow the next
TOLERANCE = 1e-3  # of coordinate descent: the duality gap as a share of ‖y‖²
THREADS = 8  # that prepare tasks side by side
WIDTHS = 256  # columns by which tasks of a large batch may differ
COPIES = 8  # of the coefficients along a path that a batch holds at once


@dataclass(frozen=True)
class Task:
    """A lasso to be solved: columns D (n, d), the response (n,) and the weights w (d,)."""

    columns: Floats
    y: Floats
    weights: Floats


@dataclass(frozen=True)
class Fit:
    """Coefficients (d,) of a lasso, its penalty, and the share of variance it explains out of sample."""

    coefficients: Floats
    penalty: float
    explained: float


Solver = Callable[[Sequence[Task]], list[Fit]]
Steps = Generator[Task, Fit, T]


def solve(steps: Sequence[Steps[T]], solver: Solver) -> list[T]:
    """Run generators in step: each round solves one task of every generator that is not at its end."""
    results: dict[int, T] = {}

    def advance(i: int, fit: Fit | None) -> Task | None:
        try:
            return next(steps[i]) if fit is None else steps[i].send(fit)
        except StopIteration as stop:
            results[i] = stop.value
            return None

    waiting: dict[int, Fit | None] = dict.fromkeys(range(len(steps)))
    with ThreadPoolExecutor(min(THREADS, len(steps) or 1)) as pool:
        while waiting:
            answers = zip(waiting, pool.map(advance, waiting.keys(), waiting.values()), strict=True)
            tasks = {i: task for i, task in answers if task is not None}
            waiting = dict(zip(tasks, solver(list(tasks.values())) if tasks else [], strict=True))
    return [results[i] for i in range(len(steps))]


def first_penalty(design: Floats, y: Floats) -> float:
    """The smallest penalty at which all coefficients are zero."""
    return max(float(np.abs(design.T @ (y - y.mean())).max()) / len(y), 1e-12)


# ---- one by one ----


def one_by_one(tasks: Sequence[Task], n_jobs: int | None = None) -> list[Fit]:
    """Each task by scikit-learn's coordinate descent, with the folds on `n_jobs` workers."""
    return [coordinate_descent(task, n_jobs) for task in tasks]


def coordinate_descent(task: Task, n_jobs: int | None = None) -> Fit:
    """Small penalties are slow and matter only where there is little noise, so the path is followed in parts."""
    design = np.asfortranarray(task.columns * task.weights)
    largest = first_penalty(design, task.y)
    parts: list[LassoCV] = []
    for start, end in pairwise(TURNS):
        penalties = largest * np.geomspace(start, end, PENALTIES)
        model = LassoCV(alphas=penalties, cv=FOLDS, n_jobs=n_jobs, max_iter=5000, tol=TOLERANCE)
        with warnings.catch_warnings():  # its threads may lose the filters of the whole process
            parts.append(model.fit(design, task.y))
        if _errors(parts[-1])[-1] > FLAT * min(_errors(part).min() for part in parts):
            break
    best = min(parts, key=lambda part: _errors(part).min())
    explained = 1 - float(_errors(best).min()) / max(float(task.y.var()), 1e-300)
    return Fit(best.coef_ * task.weights, float(best.alpha_), explained)


def _errors(part: LassoCV) -> Floats:
    """Mean squared error out of sample at each penalty."""
    return np.asarray(part.mse_path_.mean(axis=1))


# ---- as one batch ----


def as_batches(tasks: Sequence[Task], device: str) -> list[Fit]:
    """Tasks of about one shape together, as many as fit in memory."""
    fits: dict[int, Fit] = {}
    for batch in alike([task.columns.shape for task in tasks], device):
        fits |= zip(batch, proximal_gradient([tasks[i] for i in batch], device), strict=True)
    return [fits[i] for i in range(len(tasks))]


def alike(shapes: Sequence[tuple[int, ...]], device: str) -> list[list[int]]:
    """Which tasks of shapes (n, d) go together: those of nearly one width, and of any where launches are the limit."""
    batches, waiting = [], sorted(range(len(shapes)), key=lambda i: shapes[i], reverse=True)
    while waiting:
        n, width = shapes[waiting[0]]
        few = RECORDED // (width * PENALTIES * (FOLDS.n_splits + 1))
        near = [
            i
            for place, i in enumerate(waiting)
            if shapes[i][0] == n and (place < few or width - shapes[i][1] <= WIDTHS)
        ]
        batches.append(near[: _batch_size((n, width), device)])
        waiting = [i for i in waiting if i not in batches[-1]]
    return batches


def _batch_size(shape: tuple[int, ...], device: str) -> int:
    """Tasks whose columns and coefficients take at most half of the free memory."""
    n, d = shape
    free = torch.cuda.mem_get_info(device)[0] if device != "cpu" else 2**31
    each = 4 * (n * d + COPIES * (n + d) * PENALTIES * (FOLDS.n_splits + 1))
    return max(1, int(free // 2 // each))


@dataclass(frozen=True)
class _Path:
    """One part of the path of some tasks: (b, PENALTIES) errors and penalties, (b, d, PENALTIES) coefficients."""

    errors: Tensor
    penalties: Tensor
    coefficients: Tensor


def proximal_gradient(tasks: Sequence[Task], device: str) -> list[Fit]:
    """All penalties, folds and tasks of as many rows as columns of the same matrix products."""
    design, weights = (filled([getattr(task, part) for task in tasks]).to(device) for part in ("columns", "weights"))
    design = (design - design.mean(dim=1, keepdim=True)) * weights[:, None]  # (b, n, d)
    y = torch.from_numpy(np.stack([task.y - task.y.mean() for task in tasks])).to(device, torch.float32)
    largest = ((design.mT @ y[..., None]).abs().amax(dim=(1, 2)) / y.shape[1]).clamp(min=1e-12)
    curvature = curvatures(design)
    parts: list[list[_Path]] = [[] for _ in tasks]
    open_tasks = torch.arange(len(tasks), device=device)
    start = design.new_zeros(len(tasks), design.shape[2], FOLDS.n_splits + 1)
    for first, last in pairwise(TURNS):
        shares = torch.from_numpy(np.geomspace(first, last, PENALTIES)).to(design)
        penalties = largest[open_tasks, None] * shares
        path, start = _part(design[open_tasks], y[open_tasks], penalties, start, curvature[open_tasks])
        for place, i in enumerate(open_tasks.tolist()):
            parts[i].append(_Path(path.errors[place], penalties[place], path.coefficients[place]))
        lowest = torch.stack([torch.stack([part.errors.min() for part in parts[i]]).min() for i in open_tasks.tolist()])
        going_on = path.errors[:, -1] <= FLAT * lowest
        open_tasks, start = open_tasks[going_on], start[going_on]
        if not len(open_tasks):
            break
    return [_best(part, task) for part, task in zip(parts, tasks, strict=True)]


def filled(arrays: Sequence[Floats]) -> Tensor:
    """Arrays as one in single precision; those with fewer columns are filled up with zeros."""
    whole = torch.zeros(len(arrays), *arrays[0].shape[:-1], max(array.shape[-1] for array in arrays))
    for part, array in zip(whole, arrays, strict=True):
        part[..., : array.shape[-1]] = torch.from_numpy(array)
    return whole


def _part(design: Tensor, y: Tensor, penalties: Tensor, start: Tensor, curvature: Tensor) -> tuple[_Path, Tensor]:
    """Errors and coefficients at some penalties, and the last coefficients of each fold (b, d, folds)."""
    n, folds = design.shape[1], FOLDS.n_splits + 1
    seen = torch.ones(n, folds, device=design.device)  # the last fold sees all rows
    for fold, (_, out) in enumerate(FOLDS.split(np.empty(n))):
        seen[out, fold] = 0
    rows = seen.repeat_interleave(penalties.shape[1], dim=1)  # (n, folds · penalties)
    starts = start.repeat_interleave(penalties.shape[1], dim=2)
    coefficients = folded_lassos(design, y, rows, penalties.repeat(1, folds), starts, curvature)
    rest = y[..., None] - design @ coefficients
    rest = rest - (rest * rows).sum(dim=1, keepdim=True) / rows.sum(dim=0)
    by_fold = (rest.square() * (1 - rows)).sum(dim=1) / (1 - rows).sum(dim=0).clamp(min=1)
    errors = by_fold.unflatten(1, (folds, -1))[:, :-1].mean(dim=1)
    each = coefficients.unflatten(2, (folds, -1))
    return _Path(errors, penalties, each[:, :, -1]), each[..., -1]


def _best(parts: Sequence[_Path], task: Task) -> Fit:
    """The penalty of the smallest error of all parts."""
    best = min(parts, key=lambda part: float(part.errors.min()))
    place = int(best.errors.argmin())
    explained = 1 - float(best.errors[place]) / max(float(task.y.var()), 1e-300)
    coefficients = best.coefficients[: len(task.weights), place].double().cpu().numpy() * task.weights
    return Fit(coefficients, float(best.penalties[place]), explained)
