"""Rows of CoNLL-U files that are not words: multiword tokens (1-2) and empty nodes (1.1)."""

import re
from collections.abc import Sequence

from bert_cli.examples.token_files.layout import TokenLayout, split_sentences
from bert_cli.reading.rows import LeftOutRows, Row

# CoNLL-U uses 1-2 for a multiword token, and 1.1 for an empty node, which is not in the text.
_NO_WORD = re.compile(r"([0-9]{1,9})(-|\.)([0-9]{1,9})")
_CONLLU_WIDTH = 10  # columns of CoNLL-U; files with some of them are recognized by their numbers


def skip_conllu_rows(layout: TokenLayout, left_out: list[LeftOutRows]) -> list[Row]:
    """Return the rows without CoNLL-U's multiword tokens and empty nodes, which go to `left_out`."""
    sentences = split_sentences(layout.rows)
    numbers = [[row.cells[0] for row in rows] for rows in sentences]
    skipped = {row.line: row.cells[0] for row in layout.words if _NO_WORD.fullmatch(row.cells[0])}
    if not skipped or layout.columns.word == 0 or not _is_conllu(layout, numbers):
        return layout.rows
    reason = f"rows of CoNLL-U that are no words, with a number such as {next(iter(skipped.values()))}"
    left_out.extend(LeftOutRows.of_lines(reason, sorted(skipped), is_requested=True))
    return [row for row in layout.rows if row.line not in skipped]


def _is_conllu(layout: TokenLayout, numbers: Sequence[Sequence[str]]) -> bool:
    if all(map(_are_conllu_numbers, numbers)):
        return True
    # With all columns, a sentence may have gaps. But no sentence has only rows that are not words.
    are_numbers = all(number.isdecimal() or _NO_WORD.fullmatch(number) for sentence in numbers for number in sentence)
    have_words = all(any(number.isdecimal() for number in sentence) for sentence in numbers)
    return are_numbers and have_words and all(len(row.cells) == _CONLLU_WIDTH for row in layout.words)


def _are_conllu_numbers(numbers: Sequence[str]) -> bool:
    """Return whether numbers in a sentence are 1, 2, 3, …, with CoNLL-U's other rows in between.

    A range such as 1-2 precedes its words 1 and 2, and 1.1 follows the word 1. So 1-1, 1-2, … are
    a sentence's and a word's number.
    """
    num_words = sum(number.isdecimal() for number in numbers)
    last = 0  # number of the word before a row
    for number in numbers:
        match = _NO_WORD.fullmatch(number)
        if not match:
            last += 1
            is_valid = number == str(last)
        elif match[2] == "-":
            is_valid = int(match[1]) == last + 1 <= int(match[3]) <= num_words
        else:
            is_valid = int(match[1]) == last
        if not is_valid:
            return False
    return num_words > 0
