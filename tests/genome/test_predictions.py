"""Predictions from the rest of the genome: of people not seen, without the chromosome in question."""

import numpy as np
import pytest

from genomes import linked_counts, panel_of, response_of
from neuralmirror.genome.polygenic import FOLDS, HERITABILITIES, Predictions, fold_of_people, offsets_of_others
from neuralmirror.genome.windows import Stretch

N, P = 300, 80
HALVES = {"1": [Stretch(0, 20, 0, 40), Stretch(20, 40, 0, 40)], "2": [Stretch(40, 80, 40, 80)]}


@pytest.fixture(scope="module")
def work():
    panel = panel_of(linked_counts(N, P, width=4))
    return panel, response_of(panel, {5: 0.5, 50: 0.5, 70: 0.5}), fold_of_people(N, 3)


def predictions(work, response=None):
    panel, own, folds = work
    y = own if response is None else response
    return {name: Predictions.of(panel, y, some, folds, P).values for name, some in HALVES.items()}


def test_folds_are_even_and_follow_from_the_seed():
    folds = fold_of_people(103, 1)
    assert set(np.bincount(folds)) == {20, 21}
    np.testing.assert_array_equal(folds, fold_of_people(103, 1))
    assert (folds != fold_of_people(103, 2)).any()


def test_first_predictions_are_ridge_regressions_on_the_other_folds(work):
    panel, y, folds = work
    found = predictions(work)["2"]
    x = panel.columns(40, 80).astype(float)
    for number, share in enumerate(HERITABILITIES):
        for fold in range(FOLDS):
            seen, unseen = folds != fold, folds == fold
            penalty = P * (1 - share) / share
            weights = np.linalg.solve(x[:, seen] @ x[:, seen].T + penalty * np.eye(40), x[:, seen] @ y[seen])
            np.testing.assert_allclose(found[number, unseen], weights @ x[:, unseen], atol=1e-3)


def test_a_persons_own_trait_does_not_move_their_first_prediction(work):
    _, y, folds = work
    changed = y.copy()
    changed[folds == 2] += 5
    before, after = predictions(work)["1"], predictions(work, changed)["1"]
    np.testing.assert_allclose(after[:, folds == 2], before[:, folds == 2], atol=1e-5)
    assert not np.allclose(after[:, folds != 2], before[:, folds != 2])


def test_an_offset_knows_nothing_of_its_own_chromosome(work):
    _, y, folds = work
    given = predictions(work)
    other = {**given, "1": np.random.default_rng(0).standard_normal(given["1"].shape).astype(np.float32)}
    first, second = offsets_of_others(given, y, folds), offsets_of_others(other, y, folds)
    assert set(first) == {"1", "2"}
    correlation = np.corrcoef(first["1"], second["1"])[0, 1]
    assert correlation > 0.99  # the penalty alone is chosen by all of them
    assert np.corrcoef(first["2"], second["2"])[0, 1] < 0.9


def test_offsets_predict_the_trait(work):
    _, y, folds = work
    found = offsets_of_others(predictions(work), y, folds)
    assert np.corrcoef(found["1"], y)[0, 1] > 0.3  # two of the three markers lie on the other chromosome


def test_one_chromosome_has_no_others(work):
    _, y, folds = work
    assert offsets_of_others({"1": predictions(work)["1"]}, y, folds) == {}
