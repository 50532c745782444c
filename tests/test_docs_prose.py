"""Limits for sentences and paragraphs in docs/, and for the README's length."""

import pytest

from tests import docs_prose
from tests.docs_prose import MOST_PARAGRAPH_WORDS, MOST_README_WORDS, MOST_SENTENCE_WORDS, figures, pages


def test_the_readme_is_short():
    assert figures(pages()["README.md"]).words <= MOST_README_WORDS


@pytest.mark.parametrize("page", sorted(pages()))
def test_sentences_and_paragraphs_of_a_page_are_short(page):
    page_figures = figures(pages()[page])
    assert page_figures.sentence_words <= MOST_SENTENCE_WORDS
    long_paragraphs = [
        paragraph for paragraph in docs_prose.paragraphs(pages()[page]) if len(paragraph.split()) > MOST_PARAGRAPH_WORDS
    ]
    assert long_paragraphs == []


def test_code_tables_and_link_targets_are_not_counted():
    markdown = """# A heading

Two words. And [four words](a/long/target.md) here, `one --flag=x`!

| a table | row |
|---|---|

```sh
a command
```

- An item.
- Another one
  of five words.
"""
    assert docs_prose.paragraphs(markdown) == [
        "Two words. And four words here, code!", "An item.", "Another one of five words.",
    ]  # fmt: skip
    assert docs_prose.sentences("Two words. And four, e.g. here! `code` it.") == [
        "Two words.", "And four, e.g. here!", "`code` it.",
    ]  # fmt: skip
    assert figures(markdown).paragraph_words == 7
    assert figures("One sentence alone.") == docs_prose.PageFigures(3, 3, 3)
