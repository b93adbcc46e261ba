"""What makes the count of false ones right, on the real defaults: X_j and its copies are treated alike."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from builders import dense_problem, problem
from fitting import QUIET, SCHEMES, data, mirror, paper
from neuralmirror._internal.standardised import StandardisedData, standardised
from neuralmirror.learner.engine import LEARNERS, Engine
from neuralmirror.learner.network import Network
from neuralmirror.mirror.directions import blinded, conditional_directions, independent_directions, unblinded
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.response import choose_response, standard_response
from neuralmirror.mirror.scales import marginal_scales
from neuralmirror.mirror.screening import best_by_any_direction
from neuralmirror.mirror.simultaneous import simultaneous
from neuralmirror.mirror.statistic import mirror_statistics
from neuralmirror.mirror.turns import in_turns

SEED = 3
QUICK = Network(steps=60, hidden_sizes=16)
CASES = {
    "numbers": {},
    "two classes": {"classes": 2, "n": 100},
    "three classes": {"classes": 3, "n": 80, "p": 5},
    "groups": {"groups": [0, 0, 1, 2, 3, 3]},
    "covariates": {"covariates": 2},
}


def exchanged(directions, feature, copy):
    """The same directions, but X_j and one of its copies have changed places."""
    values, columns = directions.values.copy(), np.flatnonzero(directions.feature == feature)
    values[columns, 0], values[columns, copy] = directions.values[columns, copy], directions.values[columns, 0]
    return replace(directions, values=values)


def exchanged_strengths(strengths, feature, copy):
    turned = strengths.copy()
    turned[feature, [0, copy]] = strengths[feature, [copy, 0]]
    return turned


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_exchanging_a_feature_with_a_copy_exchanges_their_strengths_and_nothing_else(learner, case):
    q = problem(**CASES[case])
    drawn, response, engine = conditional_directions(q, 4, (7,)), standard_response(q), Engine(learner, QUICK)
    _, before = simultaneous(drawn, response, engine, SEED)
    for feature, copy in ((0, 2), (2, 4)):
        _, after = simultaneous(exchanged(drawn, feature, copy), response, engine, SEED)
        np.testing.assert_array_equal(after, exchanged_strengths(before, feature, copy))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("scheme", [in_turns, individual])
def test_a_mirror_in_its_turn_exchanges_a_feature_with_its_copy(scheme, learner, case):
    """Only for that feature: the learners of other turns see X_j, so theirs is another problem."""
    q = problem(**CASES[case])
    drawn, response, engine = conditional_directions(q, 4, (7,)), standard_response(q), Engine(learner, QUICK)
    _, before = scheme(drawn, response, engine, SEED)
    for feature, copy in ((0, 2), (2, 4)):
        _, after = scheme(exchanged(drawn, feature, copy), response, engine, SEED)
        np.testing.assert_array_equal(after[feature], exchanged_strengths(before, feature, copy)[feature])


def test_within_a_turn_an_exchange_changes_nothing_for_the_others():
    """Of 20 features the first and the seventeenth have their copies in the same turn."""
    q = problem(n=100, p=20)
    drawn, response, engine = conditional_directions(q, 2, (7,)), standard_response(q), Engine("sparse")
    (_, before), (_, after) = (in_turns(d, response, engine, SEED) for d in (drawn, exchanged(drawn, 16, 2)))
    np.testing.assert_array_equal(after[[0, 16]], exchanged_strengths(before, 16, 2)[[0, 16]])


@pytest.mark.parametrize("scheme", [in_turns, simultaneous, individual])
def test_the_exchange_holds_where_the_network_counts(scheme):
    """A single unit of eight features, which neither lines nor pairs hold: the network has a weight."""
    rng = np.random.default_rng(0)
    x = standardised(rng.standard_normal((400, 8)))
    y = standardised(np.maximum(x.sum(axis=1), 0) ** 2 * np.sign(x[:, 0] + x[:, 1] + x[:, 2]))
    q = StandardisedData(x, y, np.empty((400, 0)))
    drawn, engine = conditional_directions(q, 2, (7,)), Engine()
    fit, before = scheme(drawn, standard_response(q), engine, SEED)
    assert fit.weights["network"] > 0
    _, after = scheme(exchanged(drawn, 1, 2), standard_response(q), engine, SEED)
    np.testing.assert_array_equal(after[1], exchanged_strengths(before, 1, 2)[1])


@pytest.mark.parametrize("scheme", [in_turns, simultaneous, individual])
def test_the_exchange_holds_for_features_that_only_a_network_finds(scheme):
    """Units of all ten relevant features, one of which has no line: neither is it read at first, nor are the nulls."""
    q, hidden = dense_problem(0, n=600, p=20)
    drawn, engine = conditional_directions(q, 2, (7,)), Engine()
    fit, before = scheme(drawn, standard_response(q), engine, SEED)
    assert fit.weights["network"] > 0
    for feature in (hidden, 12):
        _, after = scheme(exchanged(drawn, feature, 2), standard_response(q), engine, SEED)
        np.testing.assert_array_equal(after[feature], exchanged_strengths(before, feature, 2)[feature])


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("scheme", [in_turns, simultaneous, individual])
def test_the_exchange_holds_where_trees_count(scheme, classes):
    """One feature tells which of two others acts, from where on: a truth that trees write best."""
    x = standardised(np.random.default_rng(0).standard_normal((500, 8)))
    y = np.where(x[:, 0] > 0.3, np.sign(x[:, 1] - 0.5), 2 * np.sign(x[:, 2] + 0.7) * (x[:, 3] > 0))
    y = np.digitize(y, [0, 1][: classes - 1]).astype(float) if classes else standardised(y)
    q = StandardisedData(x, y, np.empty((500, 0)), classes=classes)
    drawn, engine = conditional_directions(q, 2, (7,)), Engine(network=QUICK)
    fit, before = scheme(drawn, standard_response(q), engine, SEED)
    assert fit.weights["trees"] > 0
    for feature in (1, 6):
        _, after = scheme(exchanged(drawn, feature, 2), standard_response(q), engine, SEED)
        np.testing.assert_array_equal(after[feature], exchanged_strengths(before, feature, 2)[feature])


def test_what_is_chosen_before_the_fit_is_chosen_from_all_directions_alike():
    q = problem(n=200, p=10)
    q = replace(q, y=np.exp(q.y))
    drawn = conditional_directions(q, 4, (7,))
    response, transform = choose_response(q, drawn, SEED)
    kept = best_by_any_direction(drawn, response, 5, Engine(), SEED)
    for feature in range(10):
        other = exchanged(drawn, feature, 1 + feature % 4)
        assert choose_response(q, other, SEED)[1] == transform
        np.testing.assert_array_equal(best_by_any_direction(other, response, 5, Engine(), SEED), kept)


@pytest.mark.parametrize("scheme", [simultaneous, individual])
def test_the_papers_pairs_exchange_too(scheme):
    q = problem()
    drawn = independent_directions(q, 1, marginal_scales, (7,))
    engine = Engine("network", Network.paper().set_params(steps=60, hidden_sizes=(8, 4)))
    _, before = scheme(drawn, standard_response(q), engine, SEED)
    _, after = scheme(exchanged(drawn, 3, 1), standard_response(q), engine, SEED)
    np.testing.assert_array_equal(after[3], before[3, ::-1])
    np.testing.assert_array_equal(mirror_statistics(after)[3], -mirror_statistics(before)[3])


def test_groups_that_agree_in_their_first_column_are_told_apart_by_the_others():
    q = problem(groups=[0, 0, 1, 2, 3, 3])
    drawn = conditional_directions(q, 2, (7,))
    drawn.values[0] = drawn.values[0, :1]  # X and both copies of the first column of the first group
    one, order = blinded(drawn)
    other, turned = blinded(exchanged(drawn, 0, 2))
    np.testing.assert_array_equal(one.directions, other.directions)
    np.testing.assert_array_equal(np.array([2, 1, 0])[order[0]], turned[0])


def test_unblinding_undoes_blinding():
    drawn = conditional_directions(problem(), 4, (7,))
    inputs, order = blinded(drawn)
    assert not np.array_equal(inputs.directions, drawn.values)
    np.testing.assert_array_equal(unblinded(inputs.directions[:, :, 0], order), drawn.values[:, :, 0])


# ---- nothing but the seed and the data ----


@QUIET
@pytest.mark.parametrize("make", [mirror, paper])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_permuted_columns_permute_the_result(scheme, make):
    x, y = data()
    order = np.random.default_rng(3).permutation(8)
    one, other = (make(scheme=scheme).fit(table, y) for table in (x, x[:, order]))
    np.testing.assert_array_equal(other.strengths_, one.strengths_[:, order])
    np.testing.assert_array_equal(other.q_values_, one.q_values_[order])


@QUIET
def test_permuted_columns_permute_the_result_of_groups():
    x, y = data()
    order, labels = np.random.default_rng(3).permutation(8), np.array(list("aabbcdee"))
    one = mirror(feature_groups=labels).fit(x, y)
    other = mirror(feature_groups=labels[order]).fit(x[:, order], y)
    np.testing.assert_array_equal(other.q_values_, one.q_values_[order])


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_units_of_the_response_do_not_matter(scheme):
    """a + by is the same response once standardised, but for the last digits."""
    x, y = data()
    one, other = (mirror(scheme=scheme).fit(x, t) for t in (y, 5 + 2 * y))
    np.testing.assert_allclose(other.strengths_, one.strengths_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(other.support_, one.support_)


@QUIET
def test_the_sign_of_the_response_does_not_matter_beyond_chance():
    """The sampler draws other coefficients for −y, as its normal draws do not turn with it: the same posterior."""
    x, y = data(n=200)
    one, other = (mirror(learner="sparse").fit(x, t) for t in (y, -y))
    np.testing.assert_allclose(other.strengths_, one.strengths_, atol=0.02)


@QUIET
def test_ranks_do_not_change_with_a_monotone_change_of_the_response():
    x, y = data()
    one, other = (mirror().fit(x, t) for t in (np.exp(y), np.exp(1.5 * y)))
    assert one.target_transform_ == other.target_transform_ == "rank"
    np.testing.assert_array_equal(other.strengths_, one.strengths_)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_threads_do_not_change_the_result(scheme, learner):
    x, y = data()
    one, two = (mirror(scheme=scheme, learner=learner, n_jobs=jobs).fit(x, y) for jobs in (1, 2))
    np.testing.assert_array_equal(two.strengths_, one.strengths_)


# ---- the winner of a null is uniform ----


def null_strengths(seed, n, p, n_mirrors=4, scheme="simultaneous", relevant=5, **parameters):
    """Strengths (p, K+1) of AR(.5) features of which the first few are relevant; only the others are returned."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    for j in range(1, p):
        x[:, j] = 0.5 * x[:, j - 1] + 0.75**0.5 * x[:, j]
    x = x[:, rng.permutation(p)]
    y = x[:, :relevant].sum(axis=1) + 2 * rng.standard_normal(n)
    fitted = mirror(scheme=scheme, n_mirrors=n_mirrors, random_state=seed, **parameters).fit(x, y)
    return fitted.strengths_[0, relevant:]


def assert_uniform(strengths, chance=1e-3):
    """X_j wins once in K+1, overall and among the tenth of the features with the widest margins, both two-sided.

    Each of the two exact tests fails by chance once in a thousand seeds.
    """
    won = strengths.argmax(axis=1) == 0
    margins = np.abs(mirror_statistics(strengths))
    upper = margins >= np.quantile(margins, 0.9)
    share = 1 / strengths.shape[1]
    for wins in (won, won[upper]):
        assert binomtest(int(wins.sum()), len(wins), share).pvalue > chance, (wins.mean(), share)


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_winner_of_a_null_is_uniform(scheme):
    """15 fits of 35 null features: with 525 features a share of .20 that is off by .07 is seen nine times in ten."""
    assert_uniform(np.concatenate([null_strengths(s, 120, 40, scheme=scheme, learner="sparse") for s in range(15)]))


@QUIET
@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_winner_of_a_null_is_uniform_over_many_fits(scheme, learner):
    """40 fits of 95 null features, real defaults: a share of .20 that is off by .025 is seen nine times in ten."""
    found = [null_strengths(s, 200, 100, scheme=scheme, learner=learner, network=None) for s in range(40)]
    assert_uniform(np.concatenate(found))
