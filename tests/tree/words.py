"""Words that must not appear in the package and its pages, with replacements.

docs/glossary.md has the field's terms. A reader who knows BERT should not have to translate.
"""

import re
from collections.abc import Iterator

from tests.house_figures import Checkout

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
_FILES = (
    "bert_cli/**/*.py", "docs/**/*.md", "README.md", "CONTRIBUTING.md", "data/README.md", "benchmarks/README.md",
)  # fmt: skip
MOST_LONG_LINES = 0.06  # share of the package's nonblank lines


def old_words(checkout: Checkout) -> Iterator[str]:
    """Yield the words in INSTEAD."""
    for path in checkout.paths(*_FILES):
        text = checkout.text(path)
        for match in _PATTERN.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {match[0]!r}: write {_instead(match)}"


def _instead(match: re.Match[str]) -> str:
    return next(
        words
        for pattern, words in INSTEAD.items()
        if re.compile(rf"\b{pattern}\b", re.IGNORECASE).match(match.string, match.start())
    )


def long_lines(checkout: Checkout) -> Iterator[str]:
    """Yield the lines longer than 100 columns if the package has too many."""
    lines = [
        (f"{checkout.path_of(module)}:{number}", line)
        for module in checkout.modules
        for number, line in enumerate(checkout.read(module).split("\n"), 1)
        if line.strip()
    ]
    long = [place for place, line in lines if len(line) > 100]
    if len(long) > MOST_LONG_LINES * len(lines):
        share = f"{len(long) / len(lines):.1%} of the lines are, more than {MOST_LONG_LINES:.0%}"
        yield from (f"{place}: longer than 100 columns, as {share}: wrap it" for place in long)


CHECKS = (old_words, long_lines)
