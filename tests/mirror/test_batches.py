"""Several fits trained as one batch, and the choices that a fit makes by itself."""

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.learner import stacking
from neuralmirror.mirror.estimator import fit_together
from neuralmirror.mirror.importance import mirror_statistics

pytestmark = pytest.mark.filterwarnings("ignore::neuralmirror.SelectionWarning")

FAST = {
    "steps": 30,
    "random_state": 0,
    "hidden_sizes": (8, 4),
    "shrinkage": 0.8,
    "n_networks": 1,
    "n_mirrors": 1,
    "skip": "linear",
    "target_transform": "standard",
}


def mirror(**parameters):
    return NeuralGaussianMirror(**{**FAST, **parameters})


def data(seed=0, n=80, p=8, relevant=4):
    """The first features matter, with much signal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return x, x[:, :relevant] @ np.linspace(1, 2, relevant) + 0.3 * rng.standard_normal(n)


@pytest.fixture
def unbelieved(monkeypatch):
    """No judge convinces, so that the sparse part decides and the order of minibatches hardly matters."""
    monkeypatch.setattr(stacking, "EVIDENCE", 1e9)


# ---- one batch ----


@pytest.mark.usefixtures("unbelieved")
def test_fits_in_one_batch_equal_separate_fits():
    samples = [data(seed) for seed in range(3)]
    together, alone = ([mirror(random_state=seed, n_networks=2, fdr=0.5) for seed in range(3)] for _ in range(2))
    fit_together(together, samples)
    for one, other, (x, y) in zip(together, alone, samples, strict=True):
        other.fit(x, y)
        np.testing.assert_allclose(one.strengths_, other.strengths_, atol=0.02)
        np.testing.assert_allclose(one.scales_, other.scales_)
        assert (one.support_ & other.support_)[:4].all()  # the rest may hang on a trace of the perceptron
        assert one.beliefs_.tolist() == other.beliefs_.tolist() == [0.0]
    np.testing.assert_allclose(together[0].strengths_, alone[0].strengths_, rtol=1e-3, atol=1e-5)  # its own order


@pytest.mark.usefixtures("unbelieved")
def test_fits_of_one_batch_may_need_different_numbers_of_mirrors():
    samples = [data(0, relevant=8), data(1, relevant=1)]
    settings = {"n_mirrors": "auto", "n_networks": 2, "fdr": 0.7}
    together = [mirror(**settings, random_state=seed) for seed in range(2)]
    fit_together(together, samples)
    assert together[0].n_mirrors_ < together[1].n_mirrors_
    for seed, (one, (x, y)) in enumerate(zip(together, samples, strict=True)):
        alone = mirror(**settings, random_state=seed).fit(x, y)
        assert alone.n_mirrors_ == one.n_mirrors_ == one.strengths_.shape[2] - 1
        np.testing.assert_allclose(one.strengths_, alone.strengths_, atol=0.02)


@pytest.mark.usefixtures("unbelieved")
def test_screened_fits_in_one_batch_equal_separate_fits():
    samples = [data(seed, n=150) for seed in range(2)]
    together = [mirror(random_state=seed, n_networks=2, screen=6) for seed in range(2)]
    fit_together(together, samples)
    for seed, (one, (x, y)) in enumerate(zip(together, samples, strict=True)):
        other = mirror(random_state=seed, n_networks=2, screen=6).fit(x, y)
        assert np.count_nonzero(one.scales_) == 6
        assert (one.scales_[:4] > 0).all()  # the relevant ones pass the screen
        np.testing.assert_allclose(one.strengths_[:, :4], other.strengths_[:, :4], atol=0.03)


def test_fits_of_one_batch_keep_their_own_levels_and_groups():
    x, y = data()
    one, two = mirror(fdr=0.3), mirror(fdr=0.5, feature_groups=list("aabcdefg"))
    fit_together([one, two], [(x, y), (x, y)])
    for fitted in (one, two):
        np.testing.assert_array_equal(fitted.reselect(fitted.fdr), fitted.support_)
    np.testing.assert_allclose(one.strengths_, two.strengths_, rtol=1e-5)
    assert two.mirror_statistics_[0] == two.mirror_statistics_[1]


def test_only_single_simultaneous_fits_on_a_gpu_go_in_batches(monkeypatch):
    from neuralmirror.mirror import estimator

    monkeypatch.setattr(estimator, "resolve_device", lambda device: "cuda")
    assert mirror().trains_in_batches()
    assert mirror(screen=4).trains_in_batches()
    for parameters in ({"scheme": "individual"}, {"n_repeats": 2}):
        assert not mirror(**parameters).trains_in_batches()
    monkeypatch.setattr(estimator, "resolve_device", lambda device: "cpu")
    assert not mirror().trains_in_batches()


# ---- choices ----


def test_the_contrast_changes_sizes_and_no_sign():
    maximum, difference = (mirror(contrast=word).fit(*data()) for word in ("maximum", "difference"))
    np.testing.assert_array_equal(maximum.strengths_, difference.strengths_)
    np.testing.assert_array_equal(np.sign(maximum.mirror_statistics_), np.sign(difference.mirror_statistics_))
    for fitted in (maximum, difference):
        expected = mirror_statistics(fitted.strengths_, fitted.contrast)[0]
        np.testing.assert_array_equal(fitted.mirror_statistics_, expected)


def test_the_skip_that_is_asked_for_is_taken():
    x, y = data()
    degrees = {word: mirror(skip=word).fit(x, y).skip_degree_ for word in ("linear", "quadratic", "none")}
    assert degrees == {"linear": 1, "quadratic": 2, "none": 1}
    assert mirror(skip="auto").fit(x, x[:, 0] ** 2 + 0.1 * y).skip_degree_ == 2


def test_the_number_of_mirrors_does_not_depend_on_the_noise():
    counts = {mirror(n_mirrors="auto", random_state=seed).fit(*data()).n_mirrors_ for seed in range(3)}
    assert len(counts) == 1


def test_the_default_settings_find_lines_and_squares():
    """All of it together: K by need, squares where they predict, networks judged, shrinkage chosen."""
    x, y = data(n=150, p=10)
    fitted = NeuralGaussianMirror(fdr=0.3, steps=60, random_state=0).fit(x, y + 2 * x[:, 4] ** 2)
    assert fitted.skip_degree_ == 2
    assert fitted.support_[:5].all()
    assert fitted.n_mirrors_ >= 2  # ten features at most, and 5 / (0.3 · 10) rounds up to 2
    assert ((fitted.beliefs_ >= 0) & (fitted.beliefs_ <= 1)).all()


def test_kept_pieces_are_those_of_the_number_of_mirrors(tmp_path):
    """The level decides K where that is "auto": another level must not find the pieces of another K."""
    x, y = data(relevant=8)
    for fdr in (0.9, 0.1):
        kept = mirror(n_mirrors="auto", fdr=fdr, checkpoint=tmp_path).fit(x, y)
        fresh = mirror(n_mirrors="auto", fdr=fdr).fit(x, y)
        assert kept.n_mirrors_ == fresh.n_mirrors_
        np.testing.assert_array_equal(kept.strengths_, fresh.strengths_)
        np.testing.assert_array_equal(kept.support_, fresh.support_)
