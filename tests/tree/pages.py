"""The README and the pages of docs/: lengths, links, names in them, and files that are made from others."""

import itertools
import re
from collections.abc import Iterator

from bert_cli.__main__ import COMMANDS
from tests import badges, docs_pages, picture, written_pages
from tests.docs_prose import (
    MOST_PARAGRAPH_WORDS,
    MOST_README_WORDS,
    MOST_SENTENCE_WORDS,
    figures,
    pages,
    paragraphs,
    sentences,
)
from tests.house_figures import Checkout
from tests.tree.requirements import setup_arguments

README = "README.md"
HEADINGS = [
    "Quickstart", "Your own CSV", "One text, and a server", "Python", "Commands", "Get a model", "Limits",
    "License and citation",
]  # fmt: skip
FIRST_BLOCKS = ["make quickstart\n", "make test\n"]  # CI runs them
MOST_README_LINES = 200
MOST_IMAGE_BYTES = 200_000
# Pages that name modules.
OF_MODULES = ("docs/structure.md", "CONTRIBUTING.md")


def _place(path: str, text: str, index: int) -> str:
    return f"{path}:{text.count(chr(10), 0, index) + 1}"


def _place_of_words(path: str, text: str, paragraph: str) -> str:
    """Return the line of a paragraph's first words; its code and links are not those of the page."""
    words = [*itertools.takewhile(lambda word: word != "code", re.findall(r"\w+", paragraph))][:4]
    match = re.search(r"\W+".join(words), text) if words else None
    return _place(path, text, match.start() if match else 0)


def lengths(checkout: Checkout) -> Iterator[str]:
    """Yield long paragraphs, pages with many long sentences, and a README with too many words."""
    for path, text in pages(checkout).items():
        page_figures = figures(text)
        if path == README and page_figures.words > MOST_README_WORDS:
            yield f"{path}:1: {page_figures.words} words, more than {MOST_README_WORDS}: move some to a page of docs/"
        for paragraph in paragraphs(text):
            if (count := len(paragraph.split())) > MOST_PARAGRAPH_WORDS:
                place = _place_of_words(path, text, paragraph)
                yield f"{place}: a paragraph of {count} words, more than {MOST_PARAGRAPH_WORDS}: split it"
        if page_figures.sentence_words > MOST_SENTENCE_WORDS:
            page_sentences = (sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph))
            for sentence in page_sentences:
                if (count := len(sentence.split())) > MOST_SENTENCE_WORDS:
                    place = _place_of_words(path, text, sentence)
                    yield f"{place}: {count} words, as have too many sentences of this page: at most {MOST_SENTENCE_WORDS}"


def form_of_readme(checkout: Checkout) -> Iterator[str]:
    """Yield a README that is too long, other headings, headings without a link, and another quickstart."""
    text = checkout.text(README)
    if text.count("\n") > MOST_README_LINES:
        yield f"{README}:{MOST_README_LINES + 1}: more than {MOST_README_LINES} lines: move some to a page of docs/"
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if headings != HEADINGS:
        yield f"{README}:1: its headings are {headings}: they should be {HEADINGS}"
    start = text[: text.find("## Quickstart")]
    for heading in headings[:-1]:
        if f"](#{docs_pages.anchor_of(heading)})" not in start:
            yield f"{checkout.place(README, f'## {heading}')}: no link at the top leads to {heading}: add it"
    first_blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
    if first_blocks != FIRST_BLOCKS:
        yield f"{checkout.place(README, '```sh')}: the first blocks are {first_blocks}: they should be {FIRST_BLOCKS}"


def pictures(checkout: Checkout) -> Iterator[str]:
    """Yield pictures of the README that are missing, large or not self-contained."""
    text = checkout.text(README)
    named = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    for path in ("docs/images/terminal.svg", "docs/report.png"):
        if path not in named:
            yield f"{README}:1: the picture {path} is not shown: add it"
    for path in named:
        place, file = checkout.place(README, path), checkout.root / path
        if not file.is_file():
            yield f"{place}: there is no {path}: make the picture"
        elif file.stat().st_size >= MOST_IMAGE_BYTES:
            yield f"{place}: {path} has {file.stat().st_size} bytes: at most {MOST_IMAGE_BYTES}"
        elif match := path.endswith(".svg") and re.search(
            r"@font-face|@import|href=|<script|url\((?!#)", checkout.text(path)
        ):
            yield f"{_place(path, checkout.text(path), match.start())}: {match[0]} loads something else: put it into the file"


def made_files(checkout: Checkout) -> Iterator[str]:
    """Yield badges and a list of rooms that are not current."""
    for name, text in badges.badges(checkout.root).items():
        path = f"docs/images/{name}"
        if checkout.text(path) != text:
            yield f"{path}:1: not current: run python -m tests.badges"
    path = "docs/structure.md"
    if picture.find_block(checkout.text(path)) != picture.picture(checkout.root):
        yield f"{checkout.place(path, '```text')}: the list of rooms is not current: run python tests/picture.py"


def handwritten(checkout: Checkout) -> dict[str, str]:
    """Return the texts of the README, the guides and the tutorials, by path."""
    names = (README, *(f"docs/{name}.md" for name in written_pages.GUIDES))
    tutorials = (f"docs/tutorials/{name}.md" for name in written_pages.TUTORIALS)
    return {path: checkout.text(path) for path in (*names, *tutorials) if (checkout.root / path).is_file()}


def names_in_pages(checkout: Checkout) -> Iterator[str]:
    """Yield extras and modules in pages that do not exist, and placeholders."""
    extra_names = set(setup_arguments(checkout)["extras_require"])
    for path, text in handwritten(checkout).items():
        for match in re.finditer(r'(?:bert_cli|"\.)\[([\w,]+)\]', text):
            for extra in sorted(set(match[1].split(",")) - extra_names):
                yield f"{_place(path, text, match.start())}: setup.py has no extra {extra}: name one of {sorted(extra_names)}"
        for match in re.finditer(r"\b[A-Z]+_(OUTPUT|TABLE)\b", text):
            yield f"{_place(path, text, match.start())}: the placeholder {match[0]}: put its text there"
    for path in OF_MODULES:
        text = checkout.text(path)
        for match in re.finditer(r"`(?:bert_cli/)?([a-z_0-9/]+\.py)`", text):
            roots = (checkout.root / folder for folder in ("", "bert_cli", "bert_cli/settings"))
            if not any((root / match[1]).exists() for root in roots):
                yield f"{_place(path, text, match.start())}: there is no {match[1]}: name the module that has its code"


def links(checkout: Checkout) -> Iterator[str]:
    """Yield links of README and docs/ that lead to no file or heading."""
    for path, text in pages(checkout).items():
        if path == "CONTRIBUTING.md":
            continue
        for match in re.finditer(r"\]\(([^)#:]*)(#([\w-]+))?\)", text):
            target, _, heading = match.groups()
            file = (checkout.root / path).parent / target if target else checkout.root / path
            if not file.exists():
                yield f"{_place(path, text, match.start())}: there is no {target}: link to a file"
            elif heading:
                headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                if heading not in map(docs_pages.anchor_of, headings):
                    yield f"{_place(path, text, match.start())}: {target} has no heading {heading}: link to one"


def index(checkout: Checkout) -> Iterator[str]:
    """Yield pages that the index does not list, commands that the README does not list, and lists without a page."""
    guides = {f"docs/{name}.md" for name in (*written_pages.GUIDES, *COMMANDS, "flags", "README")}
    tutorials = {f"docs/tutorials/{name}.md" for name in written_pages.TUTORIALS}
    existing = set(checkout.paths("docs/*.md", "docs/tutorials/*.md"))
    for path in sorted(existing - guides - tutorials):
        yield f"{path}:1: no index lists this page: add it to GUIDES or TUTORIALS in tests/written_pages.py"
    for path in sorted((guides | tutorials) - existing):
        yield f"{path}:1: there is no such page: write it, or remove it from tests/written_pages.py"
    readme = checkout.text(README)
    if "](docs/README.md)" not in readme:
        yield f"{README}:1: no link leads to docs/README.md: add it"
    for command, (_, description) in COMMANDS.items():
        row = f"| [`{command}`](docs/{command}.md) | {description} |\n"
        if row not in readme:
            yield f"{checkout.place(README, '## Commands')}: the table has no row {row.strip()}: add it"


CHECKS = (lengths, form_of_readme, pictures, made_files, names_in_pages, links, index)
