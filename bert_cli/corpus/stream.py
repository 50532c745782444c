"""Pre-training instances drawn from a corpus during training.

Each pass uses new pairs and masks, and a new document order. The passes are cut into shards with
equal numbers of documents. Each shard has a separate seed, so that it does not depend on earlier
shards, and its instances are shuffled.
"""

import functools
import itertools
import random
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bert_cli.corpus.instance_rows import RowFormat
from bert_cli.corpus.instances import (
    Instance,
    Sampling,
    document_instances,
    document_sequences,
    line_sequences,
    packed_sequences,
)
from bert_cli.corpus.random_draws import permute_range
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.settings.pretraining import DOCUMENTS, LINES, PACKED, PAIRS

# Tokens per shard: about a second of work and some megabytes, and enough for shuffling. In a small
# corpus, a shard has several passes.
_SHARD_TOKENS = 1_000_000
_SHARD_PASSES = 8
_SINGLE_TEXTS = {DOCUMENTS: document_sequences, PACKED: packed_sequences, LINES: line_sequences}


def split_documents(num_documents: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of documents for training and for evaluation, int64, both ascending.

    Evaluation uses at least one document, or two if there are four or more, because a random next
    sentence needs another document. It gets no document if the share is 0 or there is only one
    document.

    Args:
        num_documents: number of documents.
        share: share of documents for evaluation.
        seed: seed used for the choice.
    """
    held_out = max(round(num_documents * share), min(2, num_documents // 2)) if share else 0
    order = permute_range(0, num_documents, num_documents, f"{seed} held out")
    return np.sort(order[held_out:]), np.sort(order[:held_out])


class CorpusSource:
    """Instances from some documents of a corpus, as rows in `format`."""

    def __init__(
        self, size: CorpusSize, corpus: Corpus, documents: np.ndarray, sampling: Sampling, form: str, seed: int
    ):
        """Prepare to draw instances.

        Args:
            size: the corpus counts.
            corpus: the stored corpus.
            documents: document numbers, used for instances and for random next texts.
            sampling: rules for making instances.
            form: form of the sequences: PAIRS, DOCUMENTS, PACKED or LINES.
            seed: seed used for all draws.
        """
        self._corpus = corpus
        self._sampling = sampling
        self._form = form
        self._seed = seed
        self._documents = array("q", documents.astype(np.int64).tobytes())  # 8 bytes each, and faster than NumPy's
        self.format = RowFormat.of(sampling)
        mean = size.num_tokens / size.num_documents
        self._shard_documents = max(1, min(round(_SHARD_TOKENS / mean), _SHARD_PASSES * len(self._documents)))

    def _pass_over(self, numbers: Iterable[int], rng: random.Random) -> Iterator[Instance]:
        """Yield instances for documents at these indices in the list."""
        if self._form == PAIRS:
            for number in numbers:
                yield from document_instances(self._corpus, self._documents, number, self._sampling, rng)
        else:
            documents = (self._documents[number] for number in numbers)
            yield from _SINGLE_TEXTS[self._form](self._corpus, documents, self._sampling, rng)

    def _rows(self, instances: Iterable[Instance], most: int | None = None) -> np.ndarray:
        """Return instances, `most` at most, as rows."""
        return self.format.unpack(b"".join(map(self.format.pack, itertools.islice(instances, most))))

    def one_pass(self, most: int | None = None) -> np.ndarray:
        """Return the rows of one pass over the documents in order, for evaluation.

        The rows are always the same; `most` limits their number.
        """
        rng = random.Random(f"{self._seed} evaluation")
        return self._rows(self._pass_over(range(len(self._documents)), rng), most)

    def sample(self, most: int) -> np.ndarray:
        """Return the first `most` rows that training draws, before they are shuffled."""
        return self._first_rows[:most]

    @functools.cached_property
    def _first_rows(self) -> np.ndarray:
        """Return the unshuffled rows of the first shard.

        They are kept, because the start of a training needs them three times.
        """
        return self._rows(self._shard_instances(0))

    def pass_size(self) -> tuple[int, float]:
        """Return the number of sequences in a pass, and their mean length in tokens.

        Both are measured on the first shard, which is a pass or more of a small corpus.
        """
        lengths = self._first_rows[:, 0]
        passes = self._shard_documents / len(self._documents)
        return max(1, round(len(lengths) / passes)), int(lengths.sum()) / len(lengths)

    def shard(self, number: int) -> np.ndarray:
        """Return the shuffled rows of shard `number`."""
        rows = self._rows(self._shard_instances(number)) if number else self._first_rows
        return rows[np.random.default_rng([self._seed, number]).permutation(len(rows))]

    def _shard_instances(self, number: int) -> Iterator[Instance]:
        # Seed with both numbers as text: with their sum, runs with adjacent seeds would share
        # shards.
        rng = random.Random(f"{self._seed} shard {number}")
        start = number * self._shard_documents
        count = len(self._documents)
        stop = start + self._shard_documents
        while start < stop:
            done, index = divmod(start, count)
            end = min(count, index + stop - start)
            yield from self._pass_over(permute_range(index, end, count, f"{self._seed} pass {done}").tolist(), rng)
            start += end - index

    def stream(
        self, batch_size: int, position: tuple[int, int] = (0, 0)
    ) -> Iterator[tuple[np.ndarray, tuple[int, int]]]:
        """Yield endless batches of rows, each with the position after it: (shard, used rows of it).

        Starting from a batch's position continues with exactly the same batches.
        """
        number, num_used = position
        with ThreadPoolExecutor(1) as thread:  # make the next shard while this one is used
            rows = self.shard(number)
            # Stay only one shard ahead: each shard takes memory until it is used up.
            next_shard = thread.submit(self.shard, number + 1)
            while True:
                pieces = []
                missing = batch_size
                while missing:
                    piece = rows[num_used : num_used + missing]
                    pieces.append(piece)
                    num_used += len(piece)
                    missing -= len(piece)
                    if missing:
                        number = number + 1
                        num_used = 0
                        rows = next_shard.result()
                        next_shard = thread.submit(self.shard, number + 1)
                yield np.concatenate(pieces), (number, num_used)
