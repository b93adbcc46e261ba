"""The page without a browser: what it says, that it hides nothing, and that its script selects as `reselect` does."""

import json
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.io.loading import Source
from neuralmirror.report.run import Request, select
from neuralmirror.report.shapes import bend, paths

NODE = shutil.which("node")
LEVELS = [0.013, 0.04, 0.05, 0.075, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.8]
BAD_NAME = "<b>&\"'</script>"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line, a square and a product among noise, in three draws."""
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 14))
    y = x[:, :3].sum(axis=1) + x[:, 3] ** 2 + 2 * x[:, 4] * x[:, 5] + 0.3 * rng.standard_normal(300)
    names = np.array([BAD_NAME, *(f"x{j}" for j in range(1, 14))])
    np.savez(folder / "d.npz", X=x, markers=names, chrom=np.arange(14) // 5 + 1, pos=np.arange(14) * 1000, height=y)
    parameters = {"learner": "sparse", "random_state": 0, "n_repeats": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        select(Request(Source(folder / "d.npz", "height"), parameters=parameters), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def page(result: Path) -> str:
    return (result / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def record(result: Path) -> dict[str, Any]:
    return dict(json.loads((result / "run.json").read_text(encoding="utf-8")))


class Words(HTMLParser):
    """The text of a page, and the names of its landmarks."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.landmarks: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.scripts += tag == "script"
        if tag == "section" or given.get("role") == "region":
            self.landmarks += [name for key in ("aria-label", "aria-labelledby") if (name := given.get(key))]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> Words:
    words = Words()
    words.feed(page)
    return words


def test_the_page_says_what_decided_what_was_found_and_under_which_conditions(page: str) -> None:
    text = " ".join(" ".join(read(page).words).split())
    for words in (
        "The sparse part (lines, curves and interactions of few features) decided alone, as asked for.",
        "of the outcome is explained on unseen rows",
        "∼ curved, lowest in the middle",
        "+ the outcome rises with it",
        "× only together with others",
        "x4 × x5",
        "share of 3 draws that select it",
        "The level must be fixed before looking.",
        "Here 3 draws vote",
        "Effects are measured in units of height.",
    ):
        assert words in text
    for words in ("Training", "belie", "held-out", " None", " nan"):
        assert words not in text.split('{"fdr"')[0]


def test_names_are_escaped_and_nothing_may_be_fetched(page: str) -> None:
    assert read(page).scripts == 2, "the data and our own"
    assert "default-src 'none'" in page
    assert "&lt;b&gt;&amp;" in page


def test_landmarks_have_names_of_their_own(page: str) -> None:
    landmarks = read(page).landmarks
    assert len(landmarks) == len(set(landmarks)) > 5


def test_only_regions_that_take_the_focus_scroll(page: str) -> None:
    style = page[page.index("<style>") : page.index("</style>")]
    scrolling = set(re.findall(r"(?m)^([.\w]+) \{[^}]*overflow(?:-x)?: auto", style))
    assert scrolling == {".scroll"}
    assert all('tabindex="0"' in tag for tag in re.findall(r'<div class="scroll[^>]*>', page))


def test_a_loaded_model_still_tells_its_effects(result: Path, record: dict[str, Any]) -> None:
    mirror = NeuralGaussianMirror.load(result / "model.safetensors")
    stored = {one["feature"]: one["effect"] for one in record["result"]["features"]}
    assert set(mirror.effects()) == set(stored)
    assert {name: effect.shape for name, effect in mirror.effects().items()} == {
        name: effect["shape"] for name, effect in stored.items()
    }
    assert stored["x4"]["partners"] == ["x5"]


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_the_slider_agrees_with_reselect_and_gives_each_set_one_estimate(result: Path) -> None:
    mirror = NeuralGaussianMirror.load(result / "model.safetensors")
    words = [str(NODE), str(Path(__file__).with_name("dom.js")), str(result / "report.html"), json.dumps(LEVELS)]
    answers = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    estimates: dict[tuple[str, ...], set[str]] = {}
    before: set[str] = set()
    for level, answer in zip(LEVELS, answers, strict=True):
        expected = mirror.reselect(fdr=level)
        assert set(answer["selected"]) == set(mirror.feature_names_in_[expected])
        assert before <= set(answer["selected"]), "a larger level never loses a feature"
        before = set(answer["selected"])
        estimates.setdefault(tuple(answer["selected"]), set()).add(answer["fdp"])
        if expected.any():
            assert float(answer["fdp"]) == pytest.approx(mirror.q_values_[expected].max(), abs=5e-4)
        else:
            assert answer["told"].startswith("No feature was selected at ")
    assert all(len(values) == 1 for values in estimates.values())


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_a_level_that_is_none_is_refused_in_words(result: Path) -> None:
    levels = json.dumps([2, -1, 0.2])
    words = [str(NODE), str(Path(__file__).with_name("dom.js")), str(result / "report.html"), levels]
    answers = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert [bool(answer["error"]) for answer in answers] == [True, True, False]
    assert "A level lies between 0 and 1" in answers[0]["error"]


def test_curves_are_drawn_on_one_scale_and_bends_have_words() -> None:
    effect = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0], "low": [0.0, 1.0, 2.0], "high": [0.0, 1.0, 2.0]}
    curve, band, zero = paths(effect, (0.0, 4.0))
    assert curve == "M3.0 33.0L60.0 25.5L117.0 18.0"
    assert band.endswith("Z")
    assert zero == 33.0
    assert bend([4, 3, 2, 1, 0, 1, 2, 3, 4]) == "lowest in the middle"
    assert bend([0, 1, 2, 3, 4, 3, 2, 1, 0]) == "highest in the middle"
    assert bend([0, 0, 0, 0, 0, 1, 2, 3, 9]) == "rising"
