"""From a tokenized corpus to TFRecord files of pre-training instances.

Instances go to a file of compact rows as they are made, and from there, shuffled, into records. In
memory are never more than some hundred of them, nor more of the corpus than the sentences in work.
"""

import contextlib
import dataclasses
import itertools
import os
import random
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_cli.corpus.instance_rows import RowFormat, count_rows
from bert_cli.corpus.instances import Instance, Sampling, document_instances
from bert_cli.corpus.random_draws import permuted, shuffle
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.corpus.text import Typecode
from bert_cli.corpus.workers import Workers
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records
from bert_cli.text.tokenization import FullTokenizer

_BATCH = 512  # instances that are written at once
_DISPLAYED = 32  # documents between two calls of on_document: they can be as short as a sentence
_BUFFER = 1 << 18  # bytes
_PAIRS = 1 << 14  # documents that a shard looks up at once
# Tokens (of all passes) in a shard when their number is not given: a few seconds of work, 25 MB of
# rows at length 128.
_SHARD_TOKENS = 8_000_000
_LEAST_SHARDS = 16


@dataclasses.dataclass(frozen=True)
class Job:
    """What all processes know. `typecode`: of token ids; files_end_documents False for the
    original's rule.
    """

    tokenizer: FullTokenizer
    typecode: Typecode
    files_end_documents: bool
    sampling: Sampling
    dupe_factor: int
    random_seed: int


@dataclasses.dataclass(frozen=True)
class InstanceShard:
    """One piece of work in sharded mode: its number, the number of all, the corpus, a folder for
    what it makes.
    """

    number: int
    num_shards: int
    corpus: CorpusSize
    folder: str


def choose_num_shards(corpus: CorpusSize, dupe_factor: int, num_outputs: int) -> int:
    """Shards where the user names none: from the data alone, so that the number of workers does not
    change the result.
    """
    # Rounded up to a multiple of the files, so that these are of equal length.
    wanted = max(_LEAST_SHARDS, -(-corpus.num_tokens * dupe_factor // _SHARD_TOKENS))
    return -(-wanted // num_outputs) * num_outputs


def write_single_stream(
    job: Job, size: CorpusSize, folder: str, paths: Sequence[str], on_document: Callable[[int], None]
) -> Counter:
    """Write the original's records for the same seed: record k into file k modulo the number of
    `paths`.

    One stream of random numbers makes, in this order, the order of the documents, all instances,
    and their order. `folder` takes a file of rows. on_document is called, now and then, with the
    number of documents done, all passes counted. Returns the sums of count_rows.
    """
    rng = random.Random(job.random_seed)
    order = array("q", range(size.num_documents))
    shuffle(rng.getrandbits, order)
    row_path = os.path.join(folder, "rows")
    with Corpus(size) as corpus:

        def instances() -> Iterator[Instance]:
            total = job.dupe_factor * len(order)
            for done in range(total):
                yield from document_instances(corpus, order, done % len(order), job.sampling, rng)
                if done % _DISPLAYED == 0 or done + 1 == total:
                    on_document(done + 1)

        num_rows = _write_rows(job, instances(), row_path)
    # Eight bytes for each instance is all that the order of a whole corpus takes.
    rows = array("q", range(num_rows))
    shuffle(rng.getrandbits, rows)
    counts: Counter[str] = Counter()
    for number, path in enumerate(paths):
        chosen = rows[number :: len(paths)]
        batches = (chosen[start : start + _BATCH] for start in range(0, len(chosen), _BATCH))
        counts.update(_write_records(job, row_path, batches, path))
    os.remove(row_path)
    return counts


def write_sharded(
    workers: Workers,
    size: CorpusSize,
    folder: str,
    paths: Sequence[str],
    num_shards: int,
    on_shard: Callable[[int], None],
) -> Counter:
    """Write the instances of all shards; shard s goes to file s modulo the number of `paths`, which
    are empty files.

    Each pass over each document is dealt to a shard by a random permutation, each shard has a seed
    of its own, and its instances are shuffled among themselves. So the files depend on the corpus,
    the Job that the workers have, and num_shards, and on nothing else. on_shard is called with the
    number of shards done. Returns the sums of count_rows.
    """
    counts: Counter[str] = Counter()
    shards = (InstanceShard(number, num_shards, size, folder) for number in range(num_shards))
    for number, (path, found) in enumerate(workers.map(write_shard, shards)):
        _append(path, paths[number % len(paths)])
        counts.update(found)
        on_shard(number + 1)
    return counts


def write_shard(job: Job, shard: InstanceShard) -> tuple[str, Counter]:
    """Make the instances of one shard; returns the path of their TFRecord file, and the sums of
    count_rows.
    """
    path = os.path.join(shard.folder, f"shard-{shard.number:05d}")
    row_path = f"{path}.rows"
    # Of the number of shards, too: otherwise shard 3 of 8 and shard 3 of 16 would draw the same
    # numbers.
    seed = f"{job.random_seed} {shard.num_shards}"
    rng = random.Random(f"{seed} draws {shard.number}")
    with Corpus(shard.corpus) as corpus:
        order = range(corpus.num_documents)
        documents = _documents_of_shard(job, shard, f"{seed} documents")
        instances = (document_instances(corpus, order, index, job.sampling, rng) for index in documents)
        num_rows = _write_rows(job, itertools.chain.from_iterable(instances), row_path)
    batches = (
        permuted(start, min(start + _BATCH, num_rows), num_rows, f"{seed} order {shard.number}").tolist()
        for start in range(0, num_rows, _BATCH)
    )
    counts = _write_records(job, row_path, batches, path)
    # Now, not at the end: otherwise the rows of all shards would lie on the disk together with
    # their records.
    os.remove(row_path)
    return path, counts


def _documents_of_shard(job: Job, shard: InstanceShard, seed: str) -> Iterator[int]:
    """Numbers of the documents that are dealt to a shard; one may come several times, once for each
    pass.
    """
    num_documents = shard.corpus.num_documents
    total = num_documents * job.dupe_factor
    first, last = (total * number // shard.num_shards for number in (shard.number, shard.number + 1))
    for start in range(first, last, _PAIRS):
        yield from (permuted(start, min(start + _PAIRS, last), total, seed) % num_documents).tolist()


def _write_rows(job: Job, instances: Iterable[Instance], path: str) -> int:
    """Write instances as rows; returns how many there are."""
    row_format = RowFormat.of(job.sampling)
    num_rows = 0
    with open(path, "wb", buffering=_BUFFER) as file:
        for instance in instances:
            file.write(row_format.pack(instance))
            num_rows += 1
    return num_rows


def _write_records(job: Job, row_path: str, batches: Iterable[Sequence[int]], path: str) -> Counter:
    """Write the rows of each batch, in its order, as records into a file; returns the sums of
    count_rows.
    """
    counts: Counter[str] = Counter()
    row_format = RowFormat.of(job.sampling)
    with open(row_path, "rb", buffering=0) as row_file, open(path, "wb") as file:
        for batch in batches:
            # Rows come in random order: each is one read at its place, without a buffer in between.
            places = (row_format.size * row for row in batch)
            rows = row_format.unpack(b"".join([os.pread(row_file.fileno(), row_format.size, at) for at in places]))
            counts.update(count_rows(rows, job.sampling.masking))
            file.write(pack_records(encode_examples(row_format.features(rows))))
    return counts


def _append(part: str, path: str) -> None:
    """Move a file to the end of another, which is only renamed where the other is empty."""
    if os.path.getsize(path) == 0:
        with contextlib.suppress(OSError):  # another file system
            os.replace(part, path)
            return
    with open(part, "rb") as source, open(path, "ab") as target:
        shutil.copyfileobj(source, target, _BUFFER)
    os.remove(part)
