"""Mapping from an answer's word pieces to the original text and its sentence."""

import re
from collections.abc import Sequence

from bert_cli.examples.squad.records import Paragraph
from bert_cli.text.tokenization import FullTokenizer

# Possible sentence ends, followed by closing quotes and brackets; an empty line ends a sentence,
# too.
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』）]*|\n[ \t\r]*\n")
_ABBREVIATIONS = frozenset(
    ("mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "approx", "ca", "cf", "fig", "no", "vol", "pp")
    + ("al", "inc", "ltd", "co", "gen", "gov", "sen", "rev", "col", "capt", "lt", "sgt", "mt", "ft", "bros")
)
_LAST_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z")
_LONGEST_WORD = 40  # characters to search before a full stop


def join_pieces(tokens: Sequence[str]) -> str:
    """Return word pieces as words: `["ste", "##ve", "smith"]` becomes `steve smith`."""
    return " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())


def final_span(pred_text: str, orig_text: str, tokenizer: FullTokenizer) -> tuple[int, int]:
    """Return the predicted words' span [first, end) in `orig_text`.

    In "Steve Smith's", the answer "steve smith" has the span 0 to 11. Characters of the tokenized
    text and of `orig_text` are paired one to one, without spaces. If that is impossible, the span
    is all of `orig_text` (get_final_text in the original). Reasons are [UNK], an accent that
    removed a character, or a prediction that does not occur.

    Args:
        pred_text: tokenizer output for a range of `orig_text`.
        orig_text: context words that the prediction touches, joined with spaces.
        tokenizer: tokenizer that splits words.
    """
    whole_span = 0, len(orig_text)
    tok_text = " ".join(tokenizer.words(orig_text))
    start = tok_text.find(pred_text)
    if start < 0 or not pred_text or " " in (pred_text[0], pred_text[-1]):
        return whole_span
    # One-to-one pairs need equal numbers of characters.
    indices = [index for index, character in enumerate(orig_text) if character != " "]
    if len(indices) != len(tok_text) - tok_text.count(" "):
        return whole_span
    last = start + len(pred_text) - 1
    before = start - tok_text.count(" ", 0, start)
    before_last = last - tok_text.count(" ", 0, last)
    return indices[before], indices[before_last] + 1


def context_span(paragraph: Paragraph, first_word: int, last_word: int, span: tuple[int, int]) -> tuple[int, int]:
    """Return the context characters for a span in joined words.

    The words are joined with single spaces, but the context has its original white space. The span
    must not begin or end at a joining space.

    Args:
        paragraph: paragraph with the context.
        first_word: number of the first joined word.
        last_word: number of the last joined word.
        span: characters [first, end) in the joined words.
    """
    start, end = span
    bounds: list[int] = []
    index = 0
    for word in range(first_word, last_word + 1):
        length = len(paragraph.doc_tokens[word])
        shift = paragraph.token_starts[word] - index
        if not bounds and start < index + length:
            bounds.append(start + shift)
        if bounds and end <= index + length:
            return bounds[0], end + shift
        index += length + 1
    raise ValueError(f"the span {span} does not lie in words {first_word} to {last_word}")


def _ends_sentence(context: str, match: re.Match) -> bool:
    """Return whether a mark ends a sentence.

    It does not if a lower-case letter follows, or if it is the full stop after an abbreviation or
    initial.
    """
    mark = match.group()[0]
    if mark not in ".!?…":
        return True
    if context[match.end() : match.end() + _LONGEST_WORD].lstrip()[:1].islower():
        return False
    if mark != ".":
        return True
    word = _LAST_WORD.search(context, max(0, match.start() - _LONGEST_WORD), match.start())
    return word is None or not (len(word.group()) == 1 or "." in word.group() or word.group().lower() in _ABBREVIATIONS)


def sentence_span(context: str, start: int, end: int) -> tuple[int, int]:
    """Return the span [first, end) of the sentences that contain characters `start` to `end`.

    This heuristic is used only to show answers in a `context`. Full stops after abbreviations (Dr.,
    U.S., J.) and marks before lower-case letters do not end a sentence; an empty line does.
    """
    first = 0
    last = len(context)
    for match in _SENTENCE_END.finditer(context):
        if not _ends_sentence(context, match):
            continue
        if match.end() <= start:
            first = match.end()
        elif match.end() >= end:
            last = match.end()
            break
    text = context[first:last]
    return first + len(text) - len(text.lstrip()), first + len(text.rstrip())
