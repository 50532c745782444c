"""Vectors and tokens that models of the server give for texts."""

from collections.abc import Callable, Sequence

from bert_cli.base.errors import name_arguments_in_errors
from bert_cli.features.packing import Cuts
from bert_cli.predicting.vectors import TextVectors
from bert_cli.sentence.steps import Normalize
from bert_cli.serving.items import Embedding, Item, Token
from bert_cli.text.offsets import find_pieces
from bert_cli.text.vocabulary import CLS, SEP


class ServedVectors:
    """An opened encoder for items."""

    def __init__(self, opened: TextVectors, count_cuts: Callable[[Cuts, int], None]):
        """Wrap an encoder.

        Args:
            opened: the encoder.
            count_cuts: called with cuts, and with the largest number of tokens.
        """
        self._opened = opened
        self._count_cuts = count_cuts

    @name_arguments_in_errors()
    def embed(self, items: Sequence[Item]) -> list[Embedding]:
        """Return a vector for each item.

        Flags or the model's modules.json determine the vector. Without them, the vector is the mean
        of the last layer with length 1.
        """
        opened = self._opened
        results: dict[int, Embedding] = {}
        for prompt_name in dict.fromkeys(item.prompt_name for item in items):
            numbers = [number for number, item in enumerate(items) if item.prompt_name == prompt_name]
            texts = [items[number].first for number in numbers]
            vectors, cuts = opened.extract([(text, None) for text in texts], prompt_name)
            self._count_cuts(cuts, opened.max_seq_length)
            counts = opened.count_tokens_and_cuts(texts, prompt_name)
            for number, vector, count in zip(numbers, vectors, counts, strict=True):
                results[number] = Embedding(vector, *count)
        return [results[number] for number in range(len(items))]

    def tokenize(self, text: str, prompt_name: str | None = None) -> list[Token]:
        """Return the tokens from a prompt and a text, with [CLS] and [SEP].

        Other threads may call this. Spans begin at the prompt's first character.
        """
        tokenizer = self._opened.model.tokenizer
        text = self._opened.recipe.with_prompt(prompt_name).prepare(text)
        pieces = [
            Token(text[piece.start : piece.end], piece.token_id, (piece.start, piece.end))
            for piece in find_pieces(tokenizer, text)
        ]
        first, last = (Token(name, tokenizer.ids[name], None) for name in (CLS, SEP))
        return [first, *pieces, last]

    @property
    def width(self) -> int:
        """Return the vectors' width."""
        return self._opened.width

    @property
    def has_unit_length(self) -> bool:
        """Return whether the vectors have length 1."""
        steps = self._opened.recipe.steps
        return bool(steps) and isinstance(steps[-1], Normalize)

    @property
    def longest(self) -> int | None:
        """Return the tokens to which texts are cut; None if texts are never cut."""
        return None if self._opened.recipe.long_text else self._opened.max_seq_length

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """Return the prompts' names."""
        modules = self._opened.recipe.modules
        return tuple(modules.prompts) if modules else ()
