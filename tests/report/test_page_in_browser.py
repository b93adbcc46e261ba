"""The page in a real browser: it selects as `reselect` does, sorts, filters, exports, and asks nobody for anything."""

import base64
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralmirror import NeuralGaussianMirror
from neuralmirror.io.cleaning import Rules
from neuralmirror.io.loading import Source
from neuralmirror.report.run import Request, select

BROWSER, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium with chromedriver on this machine")
RIGHT, END, ESCAPE = "\ue014", "\ue010", "\ue00c"  # keys
LEVELS = [0.01, 0.04, 0.05, 0.075, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.8]
RUNS = {  # one draw, several mirrors, several draws, groups, nothing to find
    "plain": {"n": 200, "parameters": {}},
    "mirrors": {"n": 150, "parameters": {"n_mirrors": 3}},
    "draws": {"n": 100, "parameters": {"n_mirrors": 2, "n_repeats": 4}},
    "null": {"n": 60, "parameters": {"n_mirrors": 1, "n_repeats": 2}, "signal": 0.0},
}


def write_panel(path: Path, n: int, signal: float = 1.0, p: int = 40) -> None:
    """Genotypes with positions on three chromosomes, ten of them true."""
    rng = np.random.default_rng(n)
    x = rng.integers(0, 3, (n, p)).astype(np.int8)
    y = signal * x[:, :10].sum(axis=1) + rng.standard_normal(n)
    names = np.array([f"<rs{j}>&" for j in range(p)])  # characters that must be escaped
    np.savez(path, X=x, markers=names, chrom=np.arange(p) // 14 + 1, pos=np.arange(p) * 1000, height=y)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, run in RUNS.items():
        write_panel(folder / f"{name}.npz", run["n"], run.get("signal", 1.0))
        parameters = {"learner": "sparse", "random_state": 0, "n_repeats": 1, **run["parameters"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            select(Request(Source(folder / f"{name}.npz", "height"), Rules(), parameters), folder / name)
    return {name: folder / name for name in RUNS}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "window-size=1200,900",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def opened(browser: Any, folder: Path) -> Any:
    browser.get((folder / "report.html").as_uri())
    return browser


def set_level(browser: Any, level: float, control: str = "level-number") -> None:
    script = "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
    browser.execute_script(script + "e.dispatchEvent(new Event('input', {bubbles: true}))", control, str(level))


def shown_features(browser: Any) -> list[str]:
    script = "return [...document.querySelectorAll('#table tbody tr')].map((r) => r.cells[0].textContent)"
    return list(browser.execute_script(script))


def chosen_features(browser: Any) -> set[str]:
    script = "return [...document.querySelectorAll('#table tbody tr.chosen')].map((r) => r.cells[0].textContent)"
    return set(browser.execute_script(script))


@pytest.mark.parametrize("name", RUNS)
def test_the_slider_selects_what_reselect_selects(name: str, browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results[name])
    mirror = NeuralGaussianMirror.load(results[name] / "model.safetensors")
    for level in LEVELS:
        expected = set(mirror.feature_names_in_[mirror.reselect(fdr=level)])
        set_level(page, level)
        assert chosen_features(page) == expected, f"at {level}"
        assert page.find_element("id", "found").text == str(len(expected))
        chips = page.execute_script("return [...document.querySelectorAll('#chips li')].map((li) => li.textContent)")
        assert set(chips) == expected
    set_level(page, 0.25, control="level")
    assert chosen_features(page) == set(mirror.feature_names_in_[mirror.reselect(fdr=0.25)])
    page.find_element("id", "reset").click()
    assert chosen_features(page) == set(mirror.feature_names_in_[mirror.support_])


def test_every_level_agrees(browser: Any, results: dict[str, Path]) -> None:
    for folder in results.values():
        page, mirror = opened(browser, folder), NeuralGaussianMirror.load(folder / "model.safetensors")
        for level in np.linspace(0.005, 0.995, 100):
            found = set(page.execute_script("return window.neuralmirror.reselect(arguments[0])", float(level)))
            assert found == set(mirror.feature_names_in_[mirror.reselect(fdr=float(level))])


def test_the_slider_obeys_the_keyboard(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    slider = page.find_element("id", "level")
    slider.send_keys(RIGHT)
    assert float(slider.get_attribute("value")) == pytest.approx(0.105)
    assert float(page.find_element("id", "level-number").get_attribute("value")) == pytest.approx(0.105)


def test_the_table_sorts_filters_and_exports(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    first = page.find_elements("css selector", "#table th button")
    first[0].click()
    names = shown_features(page)
    assert names == sorted(names, key=lambda name: int(name[3:-2]))
    assert page.find_element("css selector", "#table th").get_attribute("aria-sort") == "ascending"
    first[0].click()
    assert shown_features(page) == names[::-1]
    first[1].click()  # M, the largest first
    script = "return [...document.querySelectorAll('#table tbody tr')].map((r) => +r.cells[1].textContent)"
    values = page.execute_script(script)
    assert values == sorted(values, reverse=True)
    page.find_element("id", "filter").send_keys("rs1")
    assert {name[:4] for name in shown_features(page)} == {"<rs1"}
    page.find_element("id", "filter").send_keys("zzz")
    assert shown_features(page) == []
    assert page.find_element("id", "shown").text == "No feature matches."
    page.find_element("id", "filter").clear()
    page.execute_script("document.getElementById('filter').dispatchEvent(new Event('input'))")
    page.find_element("id", "only").click()
    assert set(shown_features(page)) == chosen_features(page) != set()
    exported = page.execute_script("return window.neuralmirror.exported()").splitlines()
    assert {line.split(",")[0] for line in exported[1:]} == chosen_features(page)


def test_an_empty_selection_says_why(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["null"])
    set_level(page, 0.02)
    text = page.find_element("id", "sentence").text
    assert text.startswith("No feature was selected at 0.02.")
    assert "at least 50 features must stand out together" in text
    assert page.find_element("id", "state-threshold").text == "∞"


def test_positions_give_a_manhattan_plot(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    assert page.find_element("id", "manhattan").is_displayed()
    assert len(page.find_elements("css selector", "#manhattan circle")) == 40


def test_nothing_is_fetched_and_nothing_fails(browser: Any, results: dict[str, Path]) -> None:
    for log in ("browser", "performance"):
        browser.get_log(log)
    page = opened(browser, results["draws"])
    set_level(page, 0.3)
    for control in ("theme", "export", "reset"):
        page.find_element("id", control).click()
    assert page.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert {url.split(":")[0] for url in asked} <= {"file", "data", "blob"}
    assert sum(url.startswith("file:") for url in asked) == 1, asked


@pytest.mark.parametrize("width", [390, 800, 1200])
def test_the_page_fits_and_every_control_has_a_name(width: int, browser: Any, results: dict[str, Path]) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page = opened(browser, results["plain"])
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "slider", "searchbox", "spinbutton", "checkbox", "img"}
    controls = [node for node in nodes if node.get("role", {}).get("value") in roles]
    assert controls
    assert all(node["name"]["value"] for node in controls)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_choice_of_light_or_dark_is_kept(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    page.find_element("id", "theme").click()
    chosen = page.execute_script("return document.documentElement.dataset.theme")
    page = opened(browser, results["plain"])
    assert page.execute_script("return document.documentElement.dataset.theme") == chosen


@pytest.mark.parametrize(("figure", "first"), [("mirror", "selected"), ("manhattan", "<rs")])
def test_arrow_keys_read_the_marks_of_a_figure(figure: str, first: str, browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    holder, tip = page.find_element("id", figure), page.find_element("id", "tip")
    holder.send_keys(RIGHT)
    assert tip.is_displayed()
    assert first in tip.text
    marked = page.find_elements("css selector", f"#{figure} .read")
    assert [mark.get_attribute("data-tip") for mark in marked] == [tip.text]
    assert "won" in marked[0].get_attribute("class"), "the selected ones come first"
    holder.send_keys(END)
    assert tip.text == page.find_element("css selector", f"#{figure} .read").get_attribute("data-tip")
    holder.send_keys(ESCAPE)
    assert not tip.is_displayed()
    holder.send_keys(RIGHT)
    page.execute_script("document.getElementById('level').focus()")
    assert not tip.is_displayed()


def test_paper_shows_the_selected_features_and_what_is_folded(browser: Any, results: dict[str, Path]) -> None:
    page = opened(browser, results["plain"])
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert set(shown_features(page)) == chosen_features(page) != set()
    assert not page.find_elements("css selector", "details:not([open])")
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not page.find_elements("css selector", "details[open]")
    assert len(shown_features(page)) == 40, "the screen is as it was"
    printed = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    assert len(shown_features(page)) == 40


def test_a_sheet_of_paper_holds_the_page_without_its_controls(browser: Any, results: dict[str, Path]) -> None:
    sheet = {"width": 690, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # A4 less its margins
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sheet)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page = opened(browser, results["draws"])
        assert page.execute_script("return document.documentElement.scrollWidth") <= 690
        for control in ("#level", "#level-number", "#filter", "#export", "#theme", "#chips", "#copy"):
            assert not page.find_element("css selector", control).is_displayed(), control
        assert page.find_element("css selector", ".paper").is_displayed(), "what the columns mean"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
