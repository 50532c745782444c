"""TFRecord files of pre-training instances, made from a tokenized corpus.

Instances are first written to a file of compact rows, and then shuffled into records. Memory holds
only some hundred instances, and only the sentences in use.
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
from bert_cli.corpus.random_draws import permute_range, shuffle
from bert_cli.corpus.store import Corpus, CorpusSize
from bert_cli.corpus.text import Typecode
from bert_cli.corpus.workers import Workers
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records
from bert_cli.text.tokenization import FullTokenizer

_BATCH = 512  # instances to write together
_DISPLAYED = 32  # documents between two calls of on_document; they can be as short as a sentence
_BUFFER = 1 << 18  # bytes
_PAIRS = 1 << 14  # documents to look up together
# Tokens (in all passes) per shard if the number of shards is not set: a few seconds of work, and 25
# MB of rows at length 128.
_SHARD_TOKENS = 8_000_000
_LEAST_SHARDS = 16


@dataclasses.dataclass(frozen=True)
class ShardJob:
    """Settings that all processes share.

    Attributes:
        tokenizer: the tokenizer.
        typecode: type used for stored token ids.
        files_end_documents: whether a document ends with its file; False is the original's rule.
        sampling: rules for making instances.
        dupe_factor: passes over the corpus.
        random_seed: seed used for all draws.
    """

    tokenizer: FullTokenizer
    typecode: Typecode
    files_end_documents: bool
    sampling: Sampling
    dupe_factor: int
    random_seed: int


@dataclasses.dataclass(frozen=True)
class InstanceShard:
    """One shard of instances.

    Attributes:
        number: number of this shard.
        num_shards: total number of shards.
        corpus: the whole corpus.
        folder: directory for the shard's files.
    """

    number: int
    num_shards: int
    corpus: CorpusSize
    folder: str


def choose_num_shards(corpus: CorpusSize, dupe_factor: int, num_outputs: int) -> int:
    """Choose the number of shards from the data alone.

    So the number of workers does not change the result.

    Args:
        corpus: counts of the corpus.
        dupe_factor: passes over the corpus.
        num_outputs: number of files.
    """
    # Round up to a multiple of the number of files, so that files have equal lengths.
    least = max(_LEAST_SHARDS, -(-corpus.num_tokens * dupe_factor // _SHARD_TOKENS))
    return -(-least // num_outputs) * num_outputs


def write_single_stream(
    job: ShardJob, size: CorpusSize, folder: str, paths: Sequence[str], on_document: Callable[[int], None]
) -> Counter:
    """Write the original's records for the same seed; record k goes to file k modulo len(paths).

    A single stream of random numbers makes, in this order, the document order, all instances and
    their order.

    Args:
        job: settings.
        folder: directory for a temporary file of rows.
        paths: files to write.
        on_document: function that is called now and then with the number of finished documents,
            over all passes.

    Returns:
        The sums from count_rows.
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
    # The instance order needs eight bytes per instance.
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
    """Write the instances of all shards; shard s goes to file s modulo len(paths).

    A random permutation assigns each pass over each document to a shard. Each shard has a separate
    seed, and shuffles its own instances. So the files depend only on the corpus, the workers' job
    and num_shards.

    Args:
        workers: processes that share a job.
        folder: directory for temporary files.
        paths: empty files to write.
        num_shards: number of shards.
        on_shard: function that is called with the number of finished shards.

    Returns:
        The sums from count_rows.
    """
    counts: Counter[str] = Counter()
    shards = (InstanceShard(number, num_shards, size, folder) for number in range(num_shards))
    for number, (path, shard_counts) in enumerate(workers.map(write_shard, shards)):
        _append(path, paths[number % len(paths)])
        counts.update(shard_counts)
        on_shard(number + 1)
    return counts


def write_shard(job: ShardJob, shard: InstanceShard) -> tuple[str, Counter]:
    """Make a shard's instances; return its TFRecord file's path and the sums from count_rows."""
    path = os.path.join(shard.folder, f"shard-{shard.number:05d}")
    row_path = f"{path}.rows"
    # Include the number of shards: shard 3 of 8 and shard 3 of 16 must draw different numbers.
    seed = f"{job.random_seed} {shard.num_shards}"
    rng = random.Random(f"{seed} draws {shard.number}")
    with Corpus(shard.corpus) as corpus:
        order = range(corpus.num_documents)
        documents = _documents_of_shard(job, shard, f"{seed} documents")
        instances = (document_instances(corpus, order, index, job.sampling, rng) for index in documents)
        num_rows = _write_rows(job, itertools.chain.from_iterable(instances), row_path)
    batches = (
        permute_range(start, min(start + _BATCH, num_rows), num_rows, f"{seed} order {shard.number}").tolist()
        for start in range(0, num_rows, _BATCH)
    )
    counts = _write_records(job, row_path, batches, path)
    # Remove rows immediately: otherwise the disk would hold all rows together with all records.
    os.remove(row_path)
    return path, counts


def _documents_of_shard(job: ShardJob, shard: InstanceShard, seed: str) -> Iterator[int]:
    """Yield document numbers assigned to a shard, possibly several times: once per pass."""
    num_documents = shard.corpus.num_documents
    total = num_documents * job.dupe_factor
    first, last = (total * number // shard.num_shards for number in (shard.number, shard.number + 1))
    for start in range(first, last, _PAIRS):
        yield from (permute_range(start, min(start + _PAIRS, last), total, seed) % num_documents).tolist()


def _write_rows(job: ShardJob, instances: Iterable[Instance], path: str) -> int:
    """Write instances as rows, and return their number."""
    row_format = RowFormat.of(job.sampling)
    num_rows = 0
    with open(path, "wb", buffering=_BUFFER) as file:
        for instance in instances:
            file.write(row_format.pack(instance))
            num_rows += 1
    return num_rows


def _write_records(job: ShardJob, row_path: str, batches: Iterable[Sequence[int]], path: str) -> Counter:
    """Write each batch of rows as records into a file; return the sums from count_rows."""
    counts: Counter[str] = Counter()
    row_format = RowFormat.of(job.sampling)
    with open(row_path, "rb", buffering=0) as row_file, open(path, "wb") as file:
        for batch in batches:
            # Rows are in random order: read each directly at its offset, without a buffer.
            offsets = (row_format.size * row for row in batch)
            rows = row_format.unpack(
                b"".join([os.pread(row_file.fileno(), row_format.size, offset) for offset in offsets])
            )
            counts.update(count_rows(rows, job.sampling.masking))
            file.write(pack_records(encode_examples(row_format.features(rows))))
    return counts


def _append(source_path: str, target_path: str) -> None:
    """Append a file to another one, or only rename it if the other one is empty."""
    if os.path.getsize(target_path) == 0:
        with contextlib.suppress(OSError):  # fails on another file system
            os.replace(source_path, target_path)
            return
    with open(source_path, "rb") as source, open(target_path, "ab") as target:
        shutil.copyfileobj(source, target, _BUFFER)
    os.remove(source_path)
