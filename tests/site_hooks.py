"""Hooks of mkdocs for `make site`: flags in a text are not broken after their hyphens, and every link has its target."""

import html.parser
import pathlib
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

_CODE = re.compile(r"<code>[^<]*</code>")
_FLAG = re.compile(r"--[\w-]+")


class LinkError(Exception):
    """Links in the built site that lead nowhere; the message has a line per link."""


class _Page(html.parser.HTMLParser):
    """A page's links and anchors."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [link for name in ("href", "src") if (link := values.get(name))]
        self.anchors |= {anchor for name in ("id", "name") if (anchor := values.get(name))}


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with its flags in elements that the style sheet keeps on one line.

    A list of values with | between them may be broken after each.
    """
    return _CODE.sub(
        lambda code: _FLAG.sub(r'<span class="flag">\g<0></span>', code[0]).replace("|", "|<wbr>"), content
    )


def on_post_build(config: Mapping[str, Any], **_: Any) -> None:
    """Raise LinkError if a link has no target. mkdocs does not check notebooks and HTML."""
    check_links(pathlib.Path(config["site_dir"]))


def check_links(site: pathlib.Path) -> None:
    """Raise LinkError if a page links to a missing file or anchor; links to other hosts are not followed."""
    pages = {path: _Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent.joinpath(urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                dead.append(f"{path.relative_to(site)}: no target for {link}")
    if dead:
        raise LinkError("\n".join(dead))
