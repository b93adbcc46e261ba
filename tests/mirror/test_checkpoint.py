"""Work that is taken up again after a kill."""

import numpy as np
import pytest

from fitting import QUIET, SCHEMES, data, mirror, paper
from neuralmirror._internal.cache import cached, fingerprint
from neuralmirror.mirror.draw import Draw


def kept_draws(folder):
    return sorted(path.name for path in folder.rglob("draw-*.npz"))


@QUIET
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_killed_fit_goes_on_where_it_was_and_ends_the_same(scheme, tmp_path):
    """Of three draws the first two were completed: what they left is what two draws leave."""
    x, y = data()
    settings = {"scheme": scheme, "n_repeats": 3, "fdr": 0.5}
    undisturbed = mirror(**settings).fit(x, y)
    mirror(**{**settings, "n_repeats": 2, "checkpoint": tmp_path}).fit(x, y)
    assert kept_draws(tmp_path) == ["draw-0.npz", "draw-1.npz"]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("draw-*.npz")}
    resumed = mirror(**settings, checkpoint=tmp_path).fit(x, y)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    for name in ("strengths_", "scales_", "q_values_", "support_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(undisturbed, name))
    for name in ("part_weights_", "explained_", "law_checks_", "interactions_", "target_transform_"):
        assert getattr(resumed, name) == getattr(undisturbed, name)
    assert resumed.effects().keys() == undisturbed.effects().keys()


@QUIET
def test_a_damaged_draw_is_computed_again(tmp_path):
    x, y = data()
    first = mirror(checkpoint=tmp_path).fit(x, y)
    (path,) = tmp_path.rglob("draw-0.npz")
    path.write_bytes(path.read_bytes()[:200])
    np.testing.assert_array_equal(mirror(checkpoint=tmp_path).fit(x, y).strengths_, first.strengths_)


@QUIET
@pytest.mark.parametrize(
    "change",
    [{"random_state": 1}, {"learner": "sparse"}, {"n_mirrors": 2}, {"scale": np.linspace(1, 3, 8)}, {"screen": 4}],
    ids=str,
)
def test_other_work_does_not_find_these_draws(change, tmp_path):
    x, y = data()
    settings = {"noise": "independent", "scale": np.linspace(1, 2, 8), "checkpoint": tmp_path}
    for parameters in (settings, settings, {**settings, **change}):
        mirror(**parameters).fit(x, y)
    assert kept_draws(tmp_path) == ["draw-0.npz"] * 2


@QUIET
def test_given_scales_belong_to_their_columns(tmp_path):
    """Columns in another order under the same list of scales are other work."""
    x, y = data()
    settings = {"scale": np.linspace(1, 3, 8), "random_state": 0}
    paper(**settings, checkpoint=tmp_path).fit(x, y)
    turned = paper(**settings, checkpoint=tmp_path).fit(x[:, ::-1], y)
    np.testing.assert_array_equal(turned.scales_, paper(**settings).fit(x[:, ::-1], y).scales_)


def test_long_arrays_that_differ_in_the_middle_have_different_fingerprints():
    x, one = np.zeros((3, 2)), np.ones(5000)
    other = one.copy()
    other[2500] = 2
    assert fingerprint([x], {"scale": one}) != fingerprint([x], {"scale": other})
    assert fingerprint([x], {"scale": one}) == fingerprint([x.copy()], {"scale": one.copy()})


def test_without_a_folder_nothing_is_kept(tmp_path):
    assert cached(None, "draw-0", Draw, lambda: "computed") == "computed"
    assert not list(tmp_path.iterdir())


@QUIET
@pytest.mark.parametrize(
    "settings",
    [{}, {"learner": "sparse", "scheme": "individual"}, {"learner": "network", "scheme": "individual"}],
    ids=["default", "individual", "networks"],
)
def test_turns_are_kept_in_pieces(settings, tmp_path, monkeypatch):
    """Some pieces of a draw are there and the draw is not: only the others are learnt."""
    x, y = data()
    monkeypatch.setattr("neuralmirror.mirror.individual.NETWORK_FLOATS", 2**10)
    whole = mirror(**settings, checkpoint=tmp_path).fit(x, y)
    pieces = sorted(tmp_path.rglob("turns-*.npz"))
    assert len(pieces) == 8
    (draw,) = tmp_path.rglob("draw-0.npz")
    for path in (draw, *pieces[:3]):
        path.unlink()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    shared = 3 * (settings.get("learner") != "network")  # the fit that all turns share, the weights, what is beside it
    assert len(before) == 5 + shared
    again = mirror(**settings, checkpoint=tmp_path).fit(x, y)
    np.testing.assert_array_equal(again.strengths_, whole.strengths_)
    assert (again.part_weights_, again.explained_) == (whole.part_weights_, whole.explained_)
    assert again._curves == whole._curves
    assert sorted(tmp_path.rglob("turns-*.npz")) == pieces
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


@QUIET
def test_a_checkpoint_that_cannot_be_written_is_told_once_and_costs_nothing(tmp_path, recwarn):
    """Root may write into any folder, so a file stands where the folder should be."""
    x, y = data()
    (tmp_path / "taken").write_text("not a folder")
    found = mirror(learner="sparse", n_repeats=2, checkpoint=tmp_path / "taken").fit(x, y)
    np.testing.assert_array_equal(found.strengths_, mirror(learner="sparse", n_repeats=2).fit(x, y).strengths_)
    assert len({str(one.message) for one in recwarn if "could not be kept" in str(one.message)}) == 1
