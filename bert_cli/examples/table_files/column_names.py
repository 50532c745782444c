"""Names that people give to the columns of their tables."""

import re
from collections.abc import Sequence

from bert_cli.base.formats import is_number

# Names of label columns. They only count if the labels of a file are not known beforehand.
LABEL_COLUMN_NAMES = frozenset(
    ("label", "labels", "gold", "gold_label", "class", "category", "target", "sentiment", "score", "rating", "polarity")
    + ("acceptability", "judgment", "judgement", "quality", "tag", "intent", "topic", "y")
)
# Names that leave no doubt about a column, as `plain` writes them.
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


def plain(name: str) -> str:
    """Return a column name in lower case, with one underscore for each run of other signs."""
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def has_usual_names(cells: Sequence[str]) -> bool:
    """Return whether a first row holds two usual names or more, and no number and no name twice."""
    # A header never repeats a name; two equal cells are data.
    is_plausible = len(set(cells)) == len(cells) and not any(map(is_number, cells))
    return is_plausible and sum(plain(cell) in USUAL_NAMES for cell in cells) >= 2
