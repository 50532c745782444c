"""Pre-training instances drawn from a corpus during training.

Each pass uses new pairs and masks, and a new document order. The passes are cut into shards with
equal numbers of documents. Each shard has a separate seed, so that it does not depend on earlier
shards, and its instances are shuffled. If masked words are the only objective, the sequences are
single texts: documents, joined documents, lines or joined lines.
"""

import functools
import itertools
import random
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bert_cli.corpus.instance_rows import RowFormat
from bert_cli.corpus.instances import Instance, Sampling, document_instances, mask_tokens
from bert_cli.corpus.random_draws import permute_range, randbelow
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.settings.pretraining import DOCUMENTS, GROUPS, LINES, PACKED, PAIRS

# Tokens per shard: about a second of work and some megabytes, and enough for shuffling. In a small
# corpus, a shard has several passes.
_SHARD_TOKENS = 1_000_000
_SHARD_PASSES = 8


def document_sequences(
    corpus: Corpus, numbers: Iterable[int], sampling: Sampling, rng: random.Random
) -> Iterator[Instance]:
    """Yield the sequences of documents, each with as many consecutive sentences as fit.

    This is like DOC-SENTENCES in RoBERTa (Liu et al., 2019). A sentence that is longer than a
    sequence continues in the next one. No token is lost.

    Args:
        corpus: the documents.
        numbers: documents, in order.
        sampling: rules for making instances.
        rng: source of random numbers.
    """
    for number in numbers:
        budget = target = sampling.max_seq_length - 2
        if rng.random() < sampling.short_seq_prob:
            target = 1 + randbelow(rng.getrandbits, budget)
        sentence, end = corpus.document(number)
        start = corpus.sentence_offsets[sentence : sentence + 1][0]
        while sentence < end:
            # Every sentence has a token, so the bounds of `target` more sentences are enough.
            bounds = corpus.sentence_offsets[sentence : min(sentence + target + 1, end) + 1]
            size = bisect_left(bounds, start + target + 1) - 1  # number of sentences that end within the sequence
            stop = bounds[size] if bounds[size] > start else start + target
            yield _masked(corpus.token_ids[start:stop], sampling, rng)
            sentence = sentence + size
            start = stop


def packed_sequences(
    corpus: Corpus, numbers: Iterable[int], sampling: Sampling, rng: random.Random
) -> Iterator[Instance]:
    """Yield full sequences of joined documents, with [SEP] between two documents.

    This is like FULL-SENTENCES in RoBERTa, and is cut at any token like the groups of texts in
    transformers' run_mlm. No token is lost: the last sequence may be shorter.

    Args:
        corpus: the documents.
        numbers: documents, in order.
        sampling: rules for making instances.
        rng: source of random numbers.
    """
    budget = sampling.max_seq_length - 2
    pending = array("q")
    for number in numbers:
        # Do not end a sequence with two [SEP].
        if pending and len(pending) == budget - 1:
            yield _masked(pending, sampling, rng)
            pending = array("q")
        if pending:
            pending.append(sampling.masking.sep_id)
        start, stop = _token_range(corpus, number)
        # Read slice by slice: a document may be as large as the corpus.
        while start < stop:
            taken = min(stop - start, budget - len(pending))
            pending.extend(corpus.token_ids[start : start + taken])
            start += taken
            if len(pending) == budget:
                yield _masked(pending, sampling, rng)
                pending = array("q")
    if pending:
        yield _masked(pending, sampling, rng)


def line_sequences(
    corpus: Corpus, numbers: Iterable[int], sampling: Sampling, rng: random.Random
) -> Iterator[Instance]:
    """Yield one sequence per document, a line of the text, without tokens that do not fit.

    Args:
        corpus: the documents.
        numbers: documents, in order.
        sampling: rules for making instances.
        rng: source of random numbers.
    """
    for number in numbers:
        start, stop = _token_range(corpus, number)
        num_dropped = max(0, stop - start - (sampling.max_seq_length - 2))
        sequence = _masked(corpus.token_ids[start : stop - num_dropped], sampling, rng)
        yield sequence._replace(num_dropped=num_dropped)


def grouped_sequences(
    corpus: Corpus, numbers: Iterable[int], sampling: Sampling, rng: random.Random
) -> Iterator[Instance]:
    """Yield full sequences of joined documents, each document with [CLS] and [SEP] around it.

    These are the groups of texts of transformers' run_mlm, which are cut at any token. No token is
    lost: the last sequence may be shorter.

    Args:
        corpus: the documents.
        numbers: documents, in order.
        sampling: rules for making instances.
        rng: source of random numbers.
    """
    masking, length = sampling.masking, sampling.max_seq_length
    pending = array("q")
    for number in numbers:
        start, stop = _token_range(corpus, number)
        pending.append(masking.cls_id)
        pending.extend(corpus.token_ids[start:stop])
        pending.append(masking.sep_id)
        for first in range(0, len(pending) - length + 1, length):
            yield _mask_text(pending[first : first + length].tolist(), sampling, rng, counts_special=False)
        pending = pending[len(pending) // length * length :]
    if len(pending) > 1:  # a rest of one token is [SEP]
        yield _mask_text(pending.tolist(), sampling, rng, counts_special=False)


def _token_range(corpus: Corpus, number: int) -> tuple[int, int]:
    """Return the index of a document's first token, and of the first one after it."""
    first, end = corpus.document(number)
    return corpus.sentence_offsets[first : first + 1][0], corpus.sentence_offsets[end : end + 1][0]


def _masked(text: Sequence[int], sampling: Sampling, rng: random.Random) -> Instance:
    masking = sampling.masking
    return _mask_text([masking.cls_id, *text, masking.sep_id], sampling, rng)


def _mask_text(token_ids: list[int], sampling: Sampling, rng: random.Random, counts_special: bool = True) -> Instance:
    """Mask a sequence with one segment in place, except for its special tokens.

    Args:
        token_ids: the sequence.
        sampling: rules for making instances.
        rng: source of random numbers.
        counts_special: whether masked_lm_prob is a share of all tokens, as in Google's script.
            Joined lines may have many special tokens, which run_mlm does not count.
    """
    masking = sampling.masking
    kept_ids = (masking.cls_id, masking.sep_id)
    candidates = [place for place, token_id in enumerate(token_ids) if token_id not in kept_ids]
    num_tokens = None if counts_special else len(candidates)
    positions, labels = mask_tokens(token_ids, candidates, masking, rng, num_tokens)
    return Instance(token_ids, len(token_ids), positions, labels, False, 0)


_SINGLE_TEXTS = {
    DOCUMENTS: document_sequences,
    PACKED: packed_sequences,
    LINES: line_sequences,
    GROUPS: grouped_sequences,
}


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
            form: form of the sequences: PAIRS, DOCUMENTS, PACKED, LINES or GROUPS.
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
