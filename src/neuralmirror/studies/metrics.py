"""What studies keep of a fit beside FDP and power: scores by proxies, the ROC curve, the histogram, positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from neuralmirror.base import ControlledSelector
from neuralmirror.evaluation import Measure, Record, Sample
from neuralmirror.studies.real_data import Resistance

PROXY = 0.9  # a feature this much correlated with a relevant one stands for it
RATES = np.linspace(0, 1, 51)  # false positive rates at which a ROC curve is kept
EDGES = np.linspace(-1, 1, 42)  # of the bins of M / max|M|: the middle one is centred at zero


def proxy_scores(_: Any, selector: ControlledSelector, sample: Sample) -> Record:
    """FDP and power when a selected feature with |r| > 0.9 to a relevant one counts as that one."""
    x, _, truth = sample
    near = close(x, selector.support_, truth)  # (selected, relevant)
    return {
        "proxy_fdp": round(float((~near.any(axis=1)).mean()) if len(near) else 0.0, 5),
        "proxy_power": round(float(near.any(axis=0).mean()) if near.shape[1] else 0.0, 5),
    }


def close(x: NDArray[np.float64], chosen: NDArray[np.bool_], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which chosen columns stand for which true ones, (chosen, true)."""
    z = x - x.mean(axis=0)
    z /= np.maximum(np.linalg.norm(z, axis=0), 1e-12)  # a constant column stands for none
    return np.asarray(np.abs(z[:, chosen].T @ z[:, truth]) > PROXY)


def roc(_: Any, selector: ControlledSelector, sample: Sample) -> Record:
    """The true positive rate over RATES and the area under the curve, features ranked by M."""
    statistics, truth = selector.mirror_statistics_, sample[2]
    false, true, _ = roc_curve(truth, statistics)
    return {
        "auc": round(float(roc_auc_score(truth, statistics)), 5),
        "tpr": np.interp(RATES, false, true).round(3).tolist(),
    }


def histogram(_: Any, selector: ControlledSelector, sample: Sample) -> Record:
    """Counts of M / max|M| over EDGES, of null and of relevant features."""
    statistics, truth = selector.mirror_statistics_, sample[2]
    scaled = statistics / max(np.abs(statistics).max(), 1e-12)
    counts = {"nulls": scaled[~truth], "relevant": scaled[truth]}
    return {name: np.histogram(values, EDGES)[0].tolist() for name, values in counts.items()}


def positions(source: Any, selector: ControlledSelector, _: Sample) -> Record:
    """How many positions of the protein the selected mutations have on the list, and how many not."""
    assert isinstance(source, Resistance)
    chosen = selector.support_
    places = [np.unique(source.positions[chosen & there]) for there in (source.listed, ~source.listed)]
    return {"listed": len(places[0]), "unlisted": len(places[1])}


MEASURES: dict[str, Measure] = {"proxy": proxy_scores, "roc": roc, "histogram": histogram, "positions": positions}
