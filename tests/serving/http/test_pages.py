"""HTML pages with a security policy."""

import re

from bert_cli import __version__
from bert_cli.serving.http.pages import render_page


def test_the_policy_allows_only_the_scripts_of_the_page():
    text, headers = render_page("try.html", models=[], prefix="")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    nonces = set(re.findall(r"nonce-([\w-]+)'", policy))
    assert len(nonces) == 1
    assert set(re.findall(r'nonce="([^"]+)"', text)) == nonces
    assert f"bert_cli {__version__}" in text


def test_each_page_has_a_new_nonce():
    policies = {render_page("try.html", models=[], prefix="")[1]["content-security-policy"] for _ in range(2)}
    assert len(policies) == 2
