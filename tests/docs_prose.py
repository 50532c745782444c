"""Measure the length of sentences and paragraphs in Markdown pages: `python -m tests.docs_prose` prints a row per page."""

import re
import statistics
from typing import NamedTuple

from tests.house_figures import HOUSE, Checkout

MOST_README_WORDS = 700
# Maximum for the 90th percentile of words in a page's sentences.
MOST_SENTENCE_WORDS = 25
MOST_PARAGRAPH_WORDS = 90


class PageFigures(NamedTuple):
    """Word counts for a page.

    Attributes:
        words: all words in the file, as `wc -w` counts them.
        sentence_words: 90th percentile over its sentences, 0 for a page without any.
        paragraph_words: words in the longest paragraph or list item.
    """

    words: int
    sentence_words: float
    paragraph_words: int


def paragraphs(markdown: str) -> list[str]:
    """Return a page's paragraphs and list items.

    Code blocks, tables, headings and link targets are removed.
    """
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(\||#|!\[|\[!\[).*$", "", text, flags=re.MULTILINE)
    # A list item starts a new paragraph.
    text = re.sub(r"^ *(?:[-*]|\d+\.) ", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    # A command inside a sentence is one word.
    text = re.sub(r"`[^`]+`", "code", text)
    return [paragraph for block in re.split(r"\n\s*\n", text) if (paragraph := " ".join(block.split()))]


def sentences(paragraph: str) -> list[str]:
    """Return a paragraph's sentences."""
    return [sentence for sentence in re.split(r"(?<=[.?!])\)?\s+(?=[A-Z\"'(`]|code\b)", paragraph) if sentence]


def figures(markdown: str) -> PageFigures:
    """Return a page's word counts."""
    texts = paragraphs(markdown)
    lengths = [len(sentence.split()) for text in texts for sentence in sentences(text)]
    percentile = statistics.quantiles(lengths, n=10, method="inclusive")[-1] if len(lengths) > 1 else sum(lengths)
    return PageFigures(len(markdown.split()), percentile, max((len(text.split()) for text in texts), default=0))


def pages(checkout: Checkout = HOUSE) -> dict[str, str]:
    """Return the texts of README, CONTRIBUTING and all pages in docs/, by path."""
    paths = ["README.md", "CONTRIBUTING.md", *checkout.paths("docs/**/*.md")]
    return {path: checkout.text(path) for path in paths}


if __name__ == "__main__":
    print(f"{'page':42} words  sentence p90  longest paragraph")
    for name, page in pages().items():
        row = figures(page)
        print(f"{name:42} {row.words:5}  {row.sentence_words:12.0f}  {row.paragraph_words:17}")
