"""Words that must not appear in the package and its pages, with replacements.

docs/glossary.md has the field's terms. A reader who knows BERT should not have to translate.
"""

import re

import pytest

from tests.readme_blocks import ROOT

# Phrase as a regular expression -> replacement.
INSTEAD = {
    r"those of": "the noun again",
    r"that of": "the noun again",
    r"the one that": "the noun",
    r"so many": "N, or the number of …",
    r"(is|are|was|were|be|been) told": "logged, reported, returned",
    r"tells?(?!\()": "say, log, report, distinguish",
    r"stands?": "is, is in; is an alias of",
    r"behind": "after, following",
    r"beside": "next to; in addition to; together with",
    r"anew": "again",
    r"thereof": "its",
    r"alike": "similar, of similar length, in the same way",
    r"exclude each other": "multi-label, single-label",
    r"right ending": "multiple choice",
    r"number any more": "NaN",
    r"the surest": "sorted by confidence",
    r"(a|one) (text|object|line|sentence|word) a (line|row)": "one text per line",
    r"(?<!there )is no (whole|layer|label|encoder|BERT|table|object|list|page|word|shard)": "is not a …, is incomplete",
    r"learnt|spoilt|whilst": "learned; damaged; while",
    r"a blank(?! (line|cell|row|file))": "a space; for [MASK]: a mask",
}
_PATTERN = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
_FILES = sorted((ROOT / "bert_cli").rglob("*.py")) + sorted((ROOT / "docs").rglob("*.md"))
_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md", "benchmarks/README.md")]
_NAMES = [str(path.relative_to(ROOT)) for path in _FILES + _PAGES]


@pytest.mark.parametrize("name", _NAMES)
def test_old_words_do_not_return(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    messages = [
        f"{name}:{number}: {match[0]!r}; write {_instead(match)}"
        for number, line in enumerate(text.split("\n"), start=1)
        for match in _PATTERN.finditer(line)
    ]
    assert messages == []


def test_few_lines_are_longer_than_100_columns():
    """At most 6 % of the package's nonblank lines."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "bert_cli").rglob("*.py")]
    lines = [line for text in texts for line in text.split("\n") if line.strip()]
    assert sum(len(line) > 100 for line in lines) <= 0.06 * len(lines)


def _instead(match: re.Match) -> str:
    return next(
        words
        for pattern, words in INSTEAD.items()
        if re.compile(rf"\b{pattern}\b", re.IGNORECASE).match(match.string, match.start())
    )


def test_the_pattern_finds_the_words_in_texts_and_names():
    assert [match[0] for match in _PATTERN.finditer("It is told here, so many stand beside those of Anna.")] == [
        "is told", "so many", "stand", "beside", "those of",
    ]  # fmt: skip
    assert not _PATTERN.search("an outstanding standard that offers more, besides the understanding")
