"""The pages of the server: templates, each with a policy that allows its own script and style
alone.
"""

import os
import secrets
from typing import Any

import jinja2

from bert_cli.base.version import __version__

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")


# Compiled with this module, as no request reads a file.
_LOADED = {
    name: jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True).get_template(name)
    for name in ("try.html", "api.html")
}


def render_page(name: str, **values: Any) -> tuple[str, dict[str, str]]:
    """(a template as HTML, the headers that belong to it)."""
    nonce = secrets.token_urlsafe(16)
    own = f"style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'"
    headers = {
        "content-security-policy": f"default-src 'none'; {own}; connect-src 'self'; img-src data:",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    text = _LOADED[name].render(values, nonce=nonce, generator=f"bert_cli {__version__}")
    return text, headers
