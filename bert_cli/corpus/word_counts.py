"""How often each word of a text occurs, counted in blocks, so that memory is bounded by the number of different words.

files -> read_blocks -> count_block (in any process) -> merge_counts
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bert_cli.corpus.text import Block, decode_block
from bert_cli.text.tokenization import BasicTokenizer


class BlockCounts(NamedTuple):
    """word -> occurrences in a Block, and the `position` of that."""

    counts: Counter[str]
    position: int


def count_block(tokenizer: BasicTokenizer, block: Block) -> BlockCounts:
    """Count the words of all lines. InputError, with file:line, for text that is not UTF-8."""
    # Words never cross white space, so that lines need not be told apart.
    return BlockCounts(Counter(tokenizer.tokenize(decode_block(block))), block.position)


def merge_counts(
    blocks: Iterable[BlockCounts], show: Callable[[int], None] = lambda position: None
) -> list[tuple[str, int]]:
    """(word, occurrences) of all blocks, the most frequent first, equally frequent ones by code point.

    `show` is called with the position after each block.
    """
    total: Counter[str] = Counter()
    for block in blocks:
        total.update(block.counts)
        show(block.position)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))
