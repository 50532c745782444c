"""Whole words that spaces divide in the text, for --whole_words_from=spaces.

BERT's tokenizer makes a word of every ideograph. Chinese text that a program has cut into words has
spaces between them, which tokens do not show. So a token inside such a word has a marked id in the
corpus: its own id plus a number above all ids. `mask_tokens` removes the marks.
"""

from collections.abc import Iterable

from bert_cli.base.errors import refuse_if
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import UNK


def mark_of(vocab_ids: dict[str, int]) -> int:
    """Return the number that marks an id: one above the largest id."""
    return max(vocab_ids.values()) + 1


def remove_marks(token_ids: Iterable[int], mark: int) -> list[int]:
    """Return ids without marks."""
    return [index - mark if index >= mark else index for index in token_ids]


class SpaceWordTokenizer(FullTokenizer):
    """Tokenizer that marks the ids of tokens inside a word that spaces divide.

    Punctuation is a word of its own, as in "天安门。". A piece with ## is inside its word without a mark.
    """

    def __init__(self, tokenizer: FullTokenizer, cache_size: int):
        refuse_if(
            tokenizer.settings.added_tokens,
            "--whole_words_from=spaces: the model's tokenizer has added tokens, which may contain spaces; leave it out",
        )
        self._mark = mark_of(tokenizer.ids)
        super().__init__(tokenizer.ids, tokenizer.do_lower_case, cache_size, tokenizer.settings)

    @property
    def unknown_ids(self) -> list[int]:
        """The ids of [UNK], without and with a mark."""
        return [self.ids[UNK], self.ids[UNK] + self._mark]

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        token_ids = []
        was_letters = False
        for piece in self._tokenize_chunk(chunk):
            # Signs are words of their own; [UNK] is a word or a character.
            is_letters = piece == UNK or piece.removeprefix("##").isalnum()
            is_marked = is_letters and was_letters and not piece.startswith("##")
            token_ids.append(self.ids[piece] + self._mark * is_marked)
            was_letters = is_letters
        return tuple(token_ids)
