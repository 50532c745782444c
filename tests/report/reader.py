"""Parser for pages, based on Python's HTML parser."""

import html.parser

EMPTY = {"meta", "link", "br", "img", "input", "hr", "path", "use"}


class Reader(html.parser.HTMLParser):
    """Reader that collects a page's tags, attributes, ids and text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value] if name == "id" else []
            self.links += [value] if name in ("href", "src", "xlink:href", "srcset", "data", "action", "poster") else []
            self.handlers += [name] if name.startswith("on") else []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
