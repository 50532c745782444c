"""From the word pieces of an answer back to the text as it was written, and to its sentence."""

import re
from collections.abc import Sequence

from bert_cli.examples.squad.records import Paragraph
from bert_cli.text.tokenization import BasicTokenizer

# What may end a sentence, with the quotes and brackets that close after it; an empty line ends one
# too.
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』）]*|\n[ \t\r]*\n")
_ABBREVIATIONS = frozenset(
    ("mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "approx", "ca", "cf", "fig", "no", "vol", "pp")
    + ("al", "inc", "ltd", "co", "gen", "gov", "sen", "rev", "col", "capt", "lt", "sgt", "mt", "ft", "bros")
)
_LAST_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z")
_LONGEST_WORD = 40  # characters looked at before a full stop


def join_pieces(tokens: Sequence[str]) -> str:
    """Word pieces as words: `["ste", "##ve", "smith"]` gives `steve smith`."""
    return " ".join(" ".join(tokens).replace(" ##", "").replace("##", "").split())


def final_span(pred_text: str, orig_text: str, basic_tokenizer: BasicTokenizer) -> tuple[int, int]:
    """Where in `orig_text` the predicted words are: the first character, and the position after the
    last.

    `orig_text` holds the words of the context that the prediction touches, joined with spaces, and
    `pred_text` what the tokenizer made of a part of them: of "Steve Smith's" the answer "steve
    smith" is characters 0 to 11. The characters of the tokenized text and of `orig_text`, spaces
    left out, are paired one to one. Where that is not possible ([UNK], an accent that left a
    character less, a prediction that is not found) it is all of `orig_text` (get_final_text of the
    original).
    """
    whole = 0, len(orig_text)
    tok_text = " ".join(basic_tokenizer.tokenize(orig_text))
    start = tok_text.find(pred_text)
    if start < 0 or not pred_text or " " in (pred_text[0], pred_text[-1]):
        return whole
    # Characters are paired one to one, which takes as many on both sides.
    places = [index for index, character in enumerate(orig_text) if character != " "]
    if len(places) != len(tok_text) - tok_text.count(" "):
        return whole
    last = start + len(pred_text) - 1
    before = start - tok_text.count(" ", 0, start)
    before_last = last - tok_text.count(" ", 0, last)
    return places[before], places[before_last] + 1


def context_span(paragraph: Paragraph, first_word: int, last_word: int, span: tuple[int, int]) -> tuple[int, int]:
    """Characters of the context for a span in the text of words `first_word` to `last_word` joined
    with one space.

    The span must neither begin nor end at one of these spaces. Between its ends the context has the
    white space as it was written.
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
    """Whether a mark ends a sentence: no small letter follows, and it is not the full stop of an
    abbreviation or initial.
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
    """First character, and the position after the last, of the sentence (or sentences) that
    characters `start` to `end` are in.

    A rule of thumb for showing an answer: full stops of abbreviations (Dr., U.S., J.) and marks
    before small letters end no sentence, an empty line does.
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
