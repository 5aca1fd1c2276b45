"""The pages in a real browser, without a network."""

import shutil

import pytest

import hetcost as hc

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium")
NOTEBOOKS = ("energy_carbon", "ownership", "sweet_spot", "uncertainty", "your_benchmarks")
SIZES = [(1280, 800), (390, 844)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium here (`make browser` installs it): the pages were not opened")
    out = tmp_path_factory.mktemp("reports")
    jobs = [hc.report.Job(name, {}, out) for name in NOTEBOOKS]
    for done in hc.report.render_many(jobs):
        assert done.error is None, done.error
    return [out / "index.html", *sorted(out.glob("*/*.html"))]


@pytest.fixture(scope="module")
def browser(pages):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}px")
def tab(request, browser):
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    tab = context.new_page()
    tab.heard = []
    tab.on("console", lambda message: tab.heard.append(message.text))
    tab.on("pageerror", lambda error: tab.heard.append(str(error)))
    tab.asked = []
    tab.on("request", lambda request: tab.asked.append(request.url))
    yield tab
    context.close()


def test_pages_ask_for_nothing_and_complain_of_nothing(tab, pages):
    assert len(pages) == len(NOTEBOOKS) + 1
    for page in pages:
        tab.goto(page.as_uri())
        tab.wait_for_load_state("networkidle")
    foreign = [url for url in tab.asked if not url.startswith(("file://", "data:"))]
    assert foreign == []
    assert tab.heard == []


def test_pages_fit_their_window_and_show_their_pictures(tab, pages):
    for page in pages:
        tab.goto(page.as_uri())
        width = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 0, f"{page.name} is {width} px too wide"
        for image in tab.query_selector_all("img"):
            assert image.evaluate("image => image.naturalWidth") > 0
            assert len(image.get_attribute("alt")) > 10
            assert image.bounding_box()["width"] <= tab.viewport_size["width"]
        if tab.viewport_size["width"] == SIZES[0][0]:
            cut = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length"
            assert tab.eval_on_selector_all(".output", cut) == 0, "a table is cut off"
        size = tab.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
        assert size >= 16
        assert "Notebook" not in tab.title()


def test_links_of_the_index_lead_to_files(tab, pages):
    tab.goto(pages[0].as_uri())
    links = [link.get_attribute("href") for link in tab.query_selector_all("a")]
    local = [href for href in links if not href.startswith("https://")]
    assert len(local) > 20
    for href in local:
        assert (pages[0].parent / href).is_file(), href
    assert "H100 PCIe 80GB" in tab.inner_text("main"), "the sources of the facts used are listed"
