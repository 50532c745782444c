"""Pages in a notebook: a frame of their own, and files that are not written over."""

import re

from bert_cli.api.results.page import Page
from bert_cli.base.errors import InputError
from bert_cli.report.page import GENERATOR
from tests.snapshots import raises

HTML = f'<head><meta name="generator" content="{GENERATOR} 1"><style>body {{ color: red }}</style></head><p>"a" & b'


def test_the_page_is_in_a_frame():
    html = Page("A <page>", HTML)._repr_html_()
    assert re.fullmatch(r"<iframe [^<>]*></iframe>", html)
    assert 'title="A &lt;page&gt;" sandbox=""' in html
    assert "color: red" in html
    assert "&quot;a&quot; &amp; b" in html


def test_a_page_is_written_over_a_page_alone(tmp_path):
    path = tmp_path / "page.html"
    for _ in range(2):
        Page("A page", HTML).save(path)
        assert path.read_text() == HTML
    path.write_text("mine")
    with raises(InputError, "page.html: "):
        Page("A page", HTML).save(path)
    assert path.read_text() == "mine"
    assert repr(Page("A page", "12345")).startswith("A page: 5 characters of HTML")
