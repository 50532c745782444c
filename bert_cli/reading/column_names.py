"""Usual column names in tables."""

import re
from collections.abc import Sequence

from bert_cli.base.formats import is_number

# Names of label columns, used only if a file's labels are not known.
LABEL_COLUMN_NAMES = frozenset(
    ("label", "labels", "gold", "gold_label", "class", "category", "target", "sentiment", "score", "rating", "polarity")
    + ("acceptability", "judgment", "judgement", "quality", "tag", "intent", "topic", "y")
)
# Unambiguous names, in the form that `normalize_name` returns.
TEXT_NAMES = frozenset((
    "text", "sentence", "review", "comment_text", "comment", "content", "body", "message", "tweet", "utterance", "post",
    "review_text", "review_body", "document",
))  # fmt: skip
PAIRS = (
    ("text_a", "text_b"), ("text", "text_b"), ("text1", "text2"), ("text_1", "text_2"), ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b"), ("premise", "hypothesis"), ("question1", "question2"),
    ("question", "sentence"),
)  # fmt: skip
LABEL_NAMES = LABEL_COLUMN_NAMES | {"stars", "class_index", "class_name", "label_name", "is_duplicate"}
ID_NAMES = frozenset(("id", "idx", "index", "guid", "uid", "text_id", "review_id", "comment_id", "tweet_id"))
USUAL_NAMES = TEXT_NAMES | {name for pair in PAIRS for name in pair} | LABEL_NAMES | ID_NAMES


def normalize_name(name: str) -> str:
    """Return a column name in lower case, with single underscores instead of other characters."""
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def has_usual_names(cells: Sequence[str]) -> bool:
    """Return whether a first row has two or more usual names, no numbers and no repeated cell."""
    # A header never repeats a name.
    is_plausible = len(set(cells)) == len(cells) and not any(map(is_number, cells))
    return is_plausible and sum(normalize_name(cell) in USUAL_NAMES for cell in cells) >= 2
