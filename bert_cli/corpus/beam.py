"""Instances made by Apache Beam, on many machines: the corpus, shards and records are equal to
those made on one machine.

Each file is tokenized by itself, the pieces are put together in the order of the files, and each
shard is made from all of the corpus (see shards.py), of which a machine that does not see it copies
itself one. All that one step hands to another lies in a folder that every machine sees; what goes
through Beam are names and numbers. A step that Beam repeats writes the same files again.
"""

import contextlib
import dataclasses
import functools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import shard_name
from bert_cli.base.writing import atomic_paths, copy_file, write_json
from bert_cli.corpus.shards import InstanceShard, Job, choose_num_shards, write_shard
from bert_cli.corpus.store import CorpusSize, corpus_files, store_corpus
from bert_cli.corpus.text import read_blocks, tokenize_block

READ = "corpus.json"  # what the first half says of itself
CORPUS, ERROR = "corpus", "error"  # keys there: CorpusSize.counts, and an error in the text
_PIECE = 1 << 22  # bytes that are copied at once
_COUNTS = ("num_documents", "num_sentences", "num_tokens", "num_unknown", "num_single")
Piece = tuple[int, CorpusSize | None, str]  # number of the file, its corpus, or its error


def add_steps(pipeline: Any, job: Job, inputs: Sequence[str], num_outputs: int, num_shards: int, folder: str) -> None:
    """Put the work into a beam.Pipeline: from text files to the files output_path(folder, …),
    counts_path(…) and READ.

    num_shards: 0 for as many as suit the corpus. folder: is there, and all machines see it, as they
    do the inputs.
    """
    import apache_beam as beam

    plan = (
        pipeline
        | "files" >> beam.Create(list(enumerate(inputs)))
        | "to all machines" >> beam.Reshuffle()
        | "tokenize" >> beam.Map(_store_piece, job, folder)
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
    """The TFRecord file that is to be output `number`."""
    return os.path.join(folder, shard_name("output", number, num_outputs))


def counts_path(folder: str, number: int, num_outputs: int) -> str:
    """JSON: the sums of count_rows of that output."""
    return f"{output_path(folder, number, num_outputs)}.json"


def _store_piece(item: Any, job: Job, folder: str) -> Any:
    """Tokenize one file: (its number, its path) -> Piece."""
    number, path = item
    place = os.path.join(folder, f"piece-{number:05d}")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            blocks = (tokenize_block(block, job.tokenizer, job.typecode, True) for block in read_blocks([path]))
            size = store_corpus(blocks, scratch, job.typecode)
            files.make_directory(place)
            for source, target in zip(corpus_files(scratch), corpus_files(place), strict=True):
                copy_file(source, target)
    except InputError as error:  # Beam would repeat the step, and end with a page of its own
        return number, None, str(error)
    return number, dataclasses.replace(size, folder=place), ""


def _join_pieces(pieces: Iterable[Piece], job: Job, num_outputs: int, num_shards: int, folder: str) -> Any:
    """Put the pieces together; returns (the corpus, the number of shards). Where a file is wrong
    there are no shards.
    """
    # Beam keeps no order, and the corpus has the files one after the other.
    ordered = sorted(pieces, key=lambda piece: piece[0])
    sizes = [size for _, size, _ in ordered if size]
    place = os.path.join(folder, "corpus")
    corpus = CorpusSize(place, job.typecode, *(sum(getattr(size, name) for size in sizes) for name in _COUNTS))
    wrong = next((error for _, _, error in ordered if error), "")
    if wrong or not corpus.num_documents:
        write_json(os.path.join(folder, READ), {CORPUS: corpus.counts, ERROR: wrong})
        return corpus, 0
    files.make_directory(place)
    with contextlib.ExitStack() as stack:
        paths = stack.enter_context(atomic_paths(corpus_files(place)))
        tokens, *offsets = (stack.enter_context(open(path, "wb")) for path in paths)
        bases = [0] * len(offsets)
        for file in offsets:
            file.write(np.zeros(1, np.int64).tobytes())
        for size in sizes:
            token_file, *offset_files = corpus_files(size.folder)
            _copy(token_file, tokens)
            for place_of, (path, file) in enumerate(zip(offset_files, offsets, strict=True)):
                bases[place_of] = _copy_offsets(path, file, bases[place_of])
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
    """Write all offsets of a piece but the first, which is 0, counted from `base`; returns the last
    one.
    """
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


def _make_shard(shard: Any, job: Job, num_outputs: int) -> Any:
    """Returns (the number of the output that it is for, (its own number, its counts))."""
    corpus = dataclasses.replace(shard.corpus, folder=_here(shard.corpus.folder))
    with tempfile.TemporaryDirectory() as scratch:
        path, counts = write_shard(job, dataclasses.replace(shard, corpus=corpus, folder=scratch))
        copy_file(path, _shard_path(shard.folder, shard.number))
    return shard.number % num_outputs, (shard.number, dict(counts))


@functools.cache
def _here(folder: str) -> str:
    """A local folder with that corpus."""
    # A shard reads at random places, for which a remote file is too slow.
    if not files.is_remote(folder):
        return folder
    copy = files.folder_of_process()
    for source, target in zip(corpus_files(folder), corpus_files(copy), strict=True):
        copy_file(source, target)
    return copy


def _write_output(item: Any, num_outputs: int, folder: str) -> Any:
    """Concatenate the shards of an output, and count their instances."""
    number, made = item
    counts: Counter[str] = Counter()
    with atomic_paths([output_path(folder, number, num_outputs)]) as paths, open(paths[0], "wb") as file:
        # Any order comes out of a group, too; a repeated step must write the same file.
        for shard, found in sorted(made, key=lambda each: each[0]):
            _copy(_shard_path(folder, shard), file)
            counts.update(found)
    write_json(counts_path(folder, number, num_outputs), dict(counts))
    return number
