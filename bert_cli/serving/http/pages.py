"""HTML pages that a browser shows."""

import os
import secrets
from typing import Any

import jinja2

from bert_cli import __version__

_TEMPLATE_DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
# Compile the templates at import time, so that no request reads a file.
_TEMPLATES = {
    name: jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATE_DIRECTORY), autoescape=True).get_template(name)
    for name in ("try.html", "api.html")
}


def render_page(name: str, **values: Any) -> tuple[str, dict[str, str]]:
    """Return a page as HTML, and response headers that allow only its inline script and style.

    Args:
        name: a key of _TEMPLATES.
        **values: variables for the template.
    """
    nonce = secrets.token_urlsafe(16)
    inline_sources = f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'"
    headers = {
        "content-security-policy": f"default-src 'none'; {inline_sources}; connect-src 'self'; img-src data:",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    text = _TEMPLATES[name].render(values, nonce=nonce, generator=f"bert_cli {__version__}")
    return text, headers
