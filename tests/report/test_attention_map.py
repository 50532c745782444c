"""Page with heat maps: images show the attention, texts are escaped, and it fits all screens."""

import base64
import io
import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from bert_cli.report.attention_map import attention_page
from bert_cli.report.page import write_page
from tests.browser import needs_browser
from tests.report.test_page_in_browser import LOOK, look_at

TOKENS = ["[CLS]", "a", "<b>", "[SEP]"]
ATTENTION = np.random.default_rng(1).dirichlet(np.ones(4), (2, 3, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def page() -> str:
    return attention_page("a model", "a <script>b", TOKENS, ATTENTION)


def test_each_head_has_an_image_of_its_attention(page):
    images = re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="Attention of layer (\d), head (\d)"', page)
    assert [(int(layer), int(head)) for _, layer, head in images] == [(i, j) for i in range(2) for j in range(3)]
    for data, layer, head in images:
        alpha = imread(io.BytesIO(base64.b64decode(data)))[..., 3]
        np.testing.assert_allclose(alpha**2, ATTENTION[int(layer), int(head)], atol=0.005)


def test_texts_are_escaped_and_nothing_is_fetched(page):
    assert "<script" not in page
    assert page.count("<span>&lt;b&gt;</span>") == 2 * 6
    assert not re.search(r'(src|href)="(?!data:|#)', page)


@needs_browser
def test_the_page_fits_a_screen_and_a_phone(page, tmp_path):
    write_page(str(tmp_path / "map.html"), page)
    long = attention_page("m", "word " * 60, ["word"] * 60, np.full((2, 12, 60, 60), 1 / 60, np.float32))
    write_page(str(tmp_path / "long.html"), long)
    (tmp_path / "look.html").write_text(LOOK % json.dumps(["map", "long"]), encoding="utf-8")
    document, log, _ = look_at(tmp_path / "look.html", "light")
    seen = json.loads(base64.b64decode(re.search("SEEN(.*)SEEN", document)[1]))
    for name in ("map", "long"):
        for width in (1280, 390):
            shown = seen[f"{name} {width}"]
            assert shown["width"] <= width
            assert shown["cards"].keys() == {"one-head", "all-heads"}
            assert "Layer 1, head" in shown["text"]  # one large map is shown
            assert "Layer 0, head" not in shown["text"]
    assert "CONSOLE" not in log
