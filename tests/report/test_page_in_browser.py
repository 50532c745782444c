"""Pages in headless Chromium: all parts fit the screen, the console is silent, no request is sent.

A script in an outer page shows each page in frames of 1280 and 390 pixels and measures it. A
control page requests an image from the host in the hostile texts, to show that requests are
noticed. The tests are skipped without Chromium.
"""

import json
import pathlib
import re

import pytest

from bert_cli.report.page import compare_runs, comparison_page, run_page, write_page
from bert_cli.report.run_files import read_run
from tests.browser import browse, needs_browser
from tests.report import folders

# test_page.py has fast tests of the parts, and test_attention_map.py one with a browser.
pytestmark = [needs_browser, pytest.mark.slow]
LOOK = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const pages = %s, widths = [1280, 390], seen = {};
function look(name, width, frame) {
  const page = frame.contentDocument, cards = {};
  for (const card of page.querySelectorAll(".card")) {
    const box = card.getBoundingClientRect();
    cards[card.id] = [box.width, box.height, box.right];
  }
  // [container, a card] -> where it begins and ends, for containers whose rows have to be full.
  const rows = [...page.querySelectorAll(".cards, .tiles")].map(place => [...place.children].map(card => {
    const box = card.getBoundingClientRect(), outer = place.getBoundingClientRect();
    return [box.top, box.bottom, box.left - outer.left, outer.right - box.right];
  }));
  // [whether it scrolls, whether it says so]
  const scrolls = [...page.querySelectorAll(".scroll")].map(box => [
    box.scrollWidth > box.clientWidth, frame.contentWindow.getComputedStyle(box, "::after").content.includes("sideways")]);
  const folds = [...page.querySelectorAll(".fold > p")].map(text => {
    const before = text.getBoundingClientRect().height;
    text.parentElement.querySelector("input").click();
    const after = text.getBoundingClientRect().height;
    text.parentElement.querySelector("input").click();
    return [before, after];
  });
  const drawn = [...page.querySelectorAll(".plot svg")].map(svg => svg.getBoundingClientRect().height);
  seen[name + " " + width] = {
    cards, rows, scrolls, folds, drawn, width: page.documentElement.scrollWidth, text: page.body.innerText,
    back: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    elements: page.querySelectorAll("script, img, iframe").length,
  };
  if (Object.keys(seen).length == pages.length * widths.length) {
    const out = document.createElement("pre");
    out.textContent = "SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + "SEEN";
    document.body.prepend(out);
    held.contentDocument.close();
  }
}
// The browser prints the document when all of its frames are loaded; this one is when everything was looked at.
const held = document.createElement("iframe");
document.body.append(held);
held.contentDocument.open();
for (const name of pages) for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.src = name + ".html";
  // The style of what scrolls is known a frame after the layout.
  frame.onload = () => requestAnimationFrame(() => requestAnimationFrame(() => look(name, width, frame)));
  document.body.append(frame);
}
</script>"""


def look_at(page: pathlib.Path, scheme: str) -> tuple[str, str, str]:
    """Return the document after its scripts, the browser's log, and its network log."""
    network = page.with_suffix(".netlog")
    flags = [
        "--disable-component-update", "--disable-sync", "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--log-net-log={network}",
    ]  # fmt: skip
    document, log = browse(page.as_uri(), page.parent, *flags)
    return document, log, network.read_text("utf-8", "replace")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Return, by color scheme, {"kind width": measurements}, the browser log and the network log."""
    import base64

    folder = tmp_path_factory.mktemp("pages")
    names = [*folders.KINDS, "several"]
    for run_type, (make, _) in folders.KINDS.items():
        write_page(str(folder / f"{run_type}.html"), run_page(read_run(str(make(folder / run_type)))))
    runs = [read_run(str(folder / "one_label")), read_run(str(folders.one_label(folder / "second", 2, 0.9)))]
    write_page(str(folder / "several.html"), comparison_page(compare_runs(runs)))
    results = {}
    for scheme, page_names in (("light", names), ("dark", ["one_label", "several"])):
        (folder / "look.html").write_text(LOOK % json.dumps(page_names), encoding="utf-8")
        document, log, network = look_at(folder / "look.html", scheme)
        match = re.search("SEEN(.*)SEEN", document)
        assert match, (document[-2000:], log)
        results[scheme] = json.loads(base64.b64decode(match[1])), log, network
    return results


@pytest.mark.parametrize("run_type", [*folders.KINDS, "several"])
def test_every_part_fits_the_screen(seen, run_type):
    expected = {"card-compared", "card-loss", "card-differences"}
    if run_type != "several":
        expected = folders.ALWAYS_PRESENT | folders.KINDS[run_type][1]
    for width in (1280, 390):
        shown = seen["light"][0][f"{run_type} {width}"]
        assert expected <= shown["cards"].keys()
        assert shown["width"] <= width  # nothing widens the page, not even a word with 900 letters
        for card, (wide, high, right) in shown["cards"].items():
            assert wide > 200, card
            assert high > 60, card
            assert right <= width, card
        assert all(height > 100 for height in shown["drawn"])
        assert shown["elements"] == 0
        if run_type != "several":
            assert folders.SCRIPT in shown["text"]


@pytest.mark.parametrize("run_type", [*folders.KINDS, "several"])
def test_rows_have_no_holes(seen, run_type):
    """Cards in a row have the same height, and rows are equally wide."""
    for width in (1280, 390):
        for cards in seen["light"][0][f"{run_type} {width}"]["rows"]:
            tops = sorted({round(top) for top, *_ in cards})
            for row in ([card for card in cards if round(card[0]) == top] for top in tops):
                assert max(bottom for _, bottom, *_ in row) - min(bottom for _, bottom, *_ in row) < 1
                assert min(left for *_, left, _ in row) < 1
                assert min(right for *_, right in row) < 1


def test_a_table_that_scrolls_has_a_hint(seen):
    shown = [table for page in seen["light"][0].values() for table in page["scrolls"]]
    assert all(scrolls == has_hint for scrolls, has_hint in shown)
    assert any(scrolls for scrolls, _ in shown)


def test_long_texts_are_folded_until_a_click(seen):
    folds = [fold for page in seen["light"][0].values() for fold in page["folds"]]
    assert folds
    assert all(before < 140 for before, _ in folds)
    assert any(after > 2 * before for before, after in folds)


def test_light_and_dark(seen):
    def backs(scheme):
        return {shown["back"] for shown in seen[scheme][0].values()}

    assert backs("light") == {"rgb(245, 246, 248)"}
    assert backs("dark") == {"rgb(14, 17, 22)"}


def test_the_console_is_silent_and_nothing_is_requested(seen, tmp_path):
    for scheme in ("light", "dark"):
        assert "CONSOLE" not in seen[scheme][1]
        assert folders.MARK not in seen[scheme][2]
    control = tmp_path / "control.html"
    control.write_text(
        f'<script>console.error("told")</script><img src="http://{folders.MARK}/x.png">', encoding="utf-8"
    )
    _, log, network = look_at(control, "light")
    assert "CONSOLE" in log
    assert folders.MARK in network
