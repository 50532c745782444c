"""Pre-training instances drawn from a tokenized corpus while training goes on: other pairs and
masks in every pass.

The passes over the documents, each in a new order, are cut into shards of equal numbers of
documents. Shard s has a seed of its own, so that it can be made without those before it, and its
instances are shuffled among themselves.
"""

import itertools
import random
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bert_cli.corpus.instance_rows import RowFormat
from bert_cli.corpus.instances import Instance, Sampling, document_instances, document_sequences
from bert_cli.corpus.random_draws import permuted
from bert_cli.corpus.store import Corpus, CorpusSize

# Tokens in a shard: about a second of work and some megabytes, and wide enough a window for
# shuffling; a small corpus has a shard of some passes.
_SHARD_TOKENS = 1_000_000
_SHARD_PASSES = 8


def split_documents(num_documents: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the documents to train on and of those held out for evaluation, int64, both
    ascending.

    Held out is the share of the documents, but at least one, and two where there are four or more
    (a random next sentence needs another document); none of a single document, or where the share
    is 0.
    """
    held_out = max(round(num_documents * share), min(2, num_documents // 2)) if share else 0
    order = permuted(0, num_documents, num_documents, f"{seed} held out")
    return np.sort(order[held_out:]), np.sort(order[:held_out])


class CorpusSource:
    """Instances of some documents of a corpus, as rows of `format`."""

    def __init__(
        self, size: CorpusSize, corpus: Corpus, documents: np.ndarray, sampling: Sampling, pairs: bool, seed: int
    ):
        """documents: numbers of the documents, also those that random next texts come from. pairs:
        False for single sequences without next-sentence prediction.
        """
        self._corpus = corpus
        self._sampling = sampling
        self._pairs = pairs
        self._seed = seed
        self._documents = array("q", documents.astype(np.int64).tobytes())  # 8 bytes each, and quicker than NumPy's
        self.format = RowFormat.of(sampling)
        mean = size.num_tokens / size.num_documents
        self._shard_documents = max(1, min(round(_SHARD_TOKENS / mean), _SHARD_PASSES * len(self._documents)))

    def _pass_over(self, numbers: Iterable[int], rng: random.Random) -> Iterator[Instance]:
        """Instances of the documents with these places in the list."""
        for number in numbers:
            if self._pairs:
                yield from document_instances(self._corpus, self._documents, number, self._sampling, rng)
            else:
                yield from document_sequences(self._corpus, self._documents[number], self._sampling, rng)

    def _rows(self, instances: Iterable[Instance], most: int | None = None) -> np.ndarray:
        """Instances, `most` of them where that is given, as rows of instance_rows."""
        return self.format.unpack(b"".join(map(self.format.pack, itertools.islice(instances, most))))

    def one_pass(self, most: int | None = None) -> np.ndarray:
        """Rows of one pass over the documents in order, always the same: for evaluation. `most`
        cuts it off.
        """
        rng = random.Random(f"{self._seed} evaluation")
        return self._rows(self._pass_over(range(len(self._documents)), rng), most)

    def sample(self, most: int) -> np.ndarray:
        """Return the first `most` rows that training draws, before they are shuffled."""
        return self._rows(self._shard_instances(0), most)

    def shard(self, number: int) -> np.ndarray:
        """Rows of shard `number`, shuffled."""
        rows = self._rows(self._shard_instances(number))
        return rows[np.random.default_rng([self._seed, number]).permutation(len(rows))]

    def _shard_instances(self, number: int) -> Iterator[Instance]:
        # A text holds both numbers; of their sum, two runs with neighbouring seeds would share
        # shards.
        rng = random.Random(f"{self._seed} shard {number}")
        start = number * self._shard_documents
        count = len(self._documents)
        stop = start + self._shard_documents
        while start < stop:
            done, place = divmod(start, count)
            end = min(count, place + stop - start)
            yield from self._pass_over(permuted(place, end, count, f"{self._seed} pass {done}").tolist(), rng)
            start += end - place

    def stream(
        self, batch_size: int, position: tuple[int, int] = (0, 0)
    ) -> Iterator[tuple[np.ndarray, tuple[int, int]]]:
        """Rows of batch after batch without end, each with the position after it: a shard and the
        rows taken of it.

        From the position that came with a batch, the next ones are the same as if there had been no
        break.
        """
        number, taken = position
        with ThreadPoolExecutor(1) as thread:  # the next shard is made while this one is used
            rows = self.shard(number)
            # One shard ahead and no more: each takes memory until it is used up.
            following = thread.submit(self.shard, number + 1)
            while True:
                parts = []
                wanted = batch_size
                while wanted:
                    part = rows[taken : taken + wanted]
                    parts.append(part)
                    taken += len(part)
                    wanted -= len(part)
                    if wanted:
                        number = number + 1
                        taken = 0
                        rows = following.result()
                        following = thread.submit(self.shard, number + 1)
                yield np.concatenate(parts), (number, taken)
