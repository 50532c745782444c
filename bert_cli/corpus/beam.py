"""Instances made by Apache Beam on many machines, with the same result as on one machine.

Each file is tokenized separately, and the pieces are joined in file order. Each shard uses the
whole corpus (see shards.py); a machine copies the corpus if its files are remote. Steps exchange
data through a directory that every machine sees, and only names and numbers go through Beam. If
Beam repeats a step, it writes the same files again.
"""

import contextlib
import dataclasses
import functools
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import shard_name
from bert_cli.base.writing import atomic_paths, copy_file, write_json
from bert_cli.corpus.shards import InstanceShard, ShardJob, choose_num_shards, write_shard
from bert_cli.corpus.store import CorpusSize, corpus_files, store_corpus
from bert_cli.corpus.temporary import corpus_directory
from bert_cli.corpus.text import read_blocks, tokenize_block
from bert_cli.settings.texts import PLAIN_TEXT, CorpusForm

READ = "corpus.json"  # report from the first half
CORPUS, ERROR = "corpus", "error"  # keys in READ: CorpusSize.counts, and an error in the text
_PIECE = 1 << 22  # bytes per copied block
_COUNTS = ("num_documents", "num_sentences", "num_tokens", "num_unknown", "num_single")
FilePiece = tuple[int, CorpusSize | None, str]  # file number, and the file's corpus or error


def add_steps(
    pipeline: Any,
    job: ShardJob,
    inputs: Sequence[str],
    num_outputs: int,
    num_shards: int,
    folder: str,
    form: CorpusForm = PLAIN_TEXT,
) -> None:
    """Add the work to a beam.Pipeline.

    It turns text files into output_path(folder, …), counts_path(…) and READ.

    Args:
        pipeline: the beam.Pipeline.
        job: settings shared by all workers.
        inputs: text files that all machines see.
        num_outputs: number of output files.
        num_shards: number of shards, 0 to choose it for the corpus.
        folder: existing directory that all machines see.
        form: column of the text files.
    """
    import apache_beam as beam

    plan = (
        pipeline
        | "files" >> beam.Create(list(enumerate(inputs)))
        | "to all machines" >> beam.Reshuffle()
        | "tokenize" >> beam.Map(_store_piece, job, folder, form)
        | "all files" >> beam.combiners.ToList()
        | "corpus" >> beam.Map(_join_pieces, job, num_outputs, num_shards, folder)
    )
    _ = (
        plan
        | "deal" >> beam.FlatMap(_shards)
        | "shards to all machines" >> beam.Reshuffle()
        | "instances" >> beam.Map(_make_shard, job, num_outputs)
        | "by output" >> beam.GroupByKey()
        | "write" >> beam.Map(_write_output, num_outputs, folder)
    )


def output_path(folder: str, number: int, num_outputs: int) -> str:
    """Return the path used for output `number` of `num_outputs` in `folder`, a TFRecord file."""
    return os.path.join(folder, shard_name("output", number, num_outputs))


def counts_path(folder: str, number: int, num_outputs: int) -> str:
    """Return the path of an output's sums from count_rows, a JSON file.

    The arguments `folder`, `number` and `num_outputs` are used as in output_path.
    """
    return f"{output_path(folder, number, num_outputs)}.json"


def _store_piece(item: Any, job: ShardJob, folder: str, form: CorpusForm) -> Any:
    """Tokenize one file: (number, path) -> FilePiece."""
    number, path = item
    target_folder = os.path.join(folder, f"piece-{number:05d}")
    try:
        with corpus_directory() as scratch:
            pieces = read_blocks([path], form=form)
            blocks = (tokenize_block(block, job.tokenizer, job.typecode, True) for block in pieces)
            size = store_corpus(blocks, scratch, job.typecode)
            files.make_directory(target_folder)
            for source, target in zip(corpus_files(scratch), corpus_files(target_folder), strict=True):
                copy_file(source, target)
    except InputError as error:  # Beam would repeat the step, and end with a page of messages
        return number, None, str(error)
    return number, dataclasses.replace(size, folder=target_folder), ""


def _join_pieces(pieces: Iterable[FilePiece], job: ShardJob, num_outputs: int, num_shards: int, folder: str) -> Any:
    """Join the pieces and return (corpus, number of shards), with 0 shards if a file is wrong."""
    # Sort, because Beam keeps no order and the corpus follows the file order.
    ordered = sorted(pieces, key=lambda piece: piece[0])
    sizes = [size for _, size, _ in ordered if size]
    corpus_folder = os.path.join(folder, "corpus")
    corpus = CorpusSize(corpus_folder, job.typecode, *(sum(getattr(size, name) for size in sizes) for name in _COUNTS))
    first_error = next((error for _, _, error in ordered if error), "")
    if first_error or not corpus.num_documents:
        write_json(os.path.join(folder, READ), {CORPUS: corpus.counts, ERROR: first_error})
        return corpus, 0
    files.make_directory(corpus_folder)
    with contextlib.ExitStack() as stack:
        paths = stack.enter_context(atomic_paths(corpus_files(corpus_folder)))
        tokens, *offsets = (stack.enter_context(open(path, "wb")) for path in paths)
        bases = [0] * len(offsets)
        for file in offsets:
            file.write(np.zeros(1, np.int64).tobytes())
        for size in sizes:
            token_file, *offset_files = corpus_files(size.folder)
            _copy(token_file, tokens)
            for index, (path, file) in enumerate(zip(offset_files, offsets, strict=True)):
                bases[index] = _copy_offsets(path, file, bases[index])
    num_shards = num_shards or choose_num_shards(corpus, job.dupe_factor, num_outputs)
    write_json(
        os.path.join(folder, READ),
        {CORPUS: corpus.counts, "num_shards": num_shards, "time": time.time(), ERROR: ""},
    )
    return corpus, num_shards


def _copy(path: str, target: Any) -> None:
    with files.open_binary(path) as source:
        shutil.copyfileobj(source, target, _PIECE)


def _copy_offsets(path: str, target: Any, base: int) -> int:
    """Append a piece's offsets without its first one (0), counted from `base`; return the last."""
    last = base
    with files.open_binary(path) as source:
        source.read(8)
        while data := source.read(_PIECE):
            offsets = np.frombuffer(data, np.int64) + base
            target.write(offsets.tobytes())
            last = int(offsets[-1])
    return last


def _shards(plan: Any) -> Iterator[InstanceShard]:
    corpus, num_shards = plan
    for number in range(num_shards):
        yield InstanceShard(number, num_shards, corpus, os.path.dirname(corpus.folder))


def _shard_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"shard-{number:05d}")


def _make_shard(shard: Any, job: ShardJob, num_outputs: int) -> Any:
    """Return (output number, (shard number, counts))."""
    corpus = dataclasses.replace(shard.corpus, folder=_here(shard.corpus.folder))
    with corpus_directory() as scratch:
        path, counts = write_shard(job, dataclasses.replace(shard, corpus=corpus, folder=scratch))
        copy_file(path, _shard_path(shard.folder, shard.number))
    return shard.number % num_outputs, (shard.number, dict(counts))


@functools.cache
def _here(folder: str) -> str:
    """Return a local directory with this corpus."""
    # Copy remote files: a shard reads at random positions, which is slow remotely.
    if not files.is_remote(folder):
        return folder
    copy = files.make_process_folder()
    for source, target in zip(corpus_files(folder), corpus_files(copy), strict=True):
        copy_file(source, target)
    return copy


def _write_output(item: Any, num_outputs: int, folder: str) -> Any:
    """Concatenate an output's shards, and add up their counts."""
    number, shard_results = item
    counts: Counter[str] = Counter()
    with atomic_paths([output_path(folder, number, num_outputs)]) as paths, open(paths[0], "wb") as file:
        # Sort, because a group has any order and a repeated step must write the same file.
        for shard, shard_counts in sorted(shard_results, key=lambda result: result[0]):
            _copy(_shard_path(folder, shard), file)
            counts.update(shard_counts)
    write_json(counts_path(folder, number, num_outputs), dict(counts))
    return number
