"""Settings and output of bert-create-pretraining-data."""

import itertools
import re

from bert_cli.base.errors import refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.names import shard_name
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.shards import ShardJob, choose_num_shards, write_sharded, write_single_stream
from bert_cli.corpus.space_words import SpaceWordTokenizer
from bert_cli.corpus.store import CorpusSize
from bert_cli.corpus.text import token_typecode
from bert_cli.corpus.workers import Workers
from bert_cli.opening.vocab_file import check_casing, read_vocab_file
from bert_cli.outputs.preparation import format_instance
from bert_cli.outputs.progress import Progress
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from bert_cli.runs.preparation.corpus import CACHE_SIZE, warn_of_few_predictions
from bert_cli.settings.pretraining import SPACES, CreateDataSettings
from bert_cli.text.tokenization import FullTokenizer


def expand_outputs(output_file: str) -> list[str]:
    """Return the paths for a value of --output_file.

    The value is a comma-separated list of names; name@N means N numbered files.

    Raises:
        InputError: if N is not between 1 and 99999, or a path occurs twice.
    """
    paths = []
    for item in output_file.split(","):
        match = re.fullmatch(r"(.+)@(\d+)", item)
        count = int(match[2]) if match else 1
        is_wrong = not item or not 1 <= count <= 99999
        refuse_if(is_wrong, f"--output_file={output_file}: {item!r} is not a name, or name@N with N from 1 to 99999")
        paths += [shard_name(match[1], number, count) for number in range(count)] if match else [item]
    has_duplicates = len(set(paths)) < len(paths)
    refuse_if(has_duplicates, f"--output_file={output_file}: a name comes twice; each file needs its own")
    return paths


def prepare_job(settings: CreateDataSettings) -> ShardJob:
    """Return the tokenizer and all settings that determine the instances."""
    vocabulary_flags = settings.vocabulary
    masking = settings.masking
    max_seq_length = settings.encoding.max_seq_length
    do_lower_case = vocabulary_flags.do_lower_case
    vocabulary, stored = read_vocab_file(vocabulary_flags.vocab_file, do_lower_case)
    if do_lower_case is None:
        do_lower_case = stored.casing is None or stored.casing[1]
    check_casing(do_lower_case, vocabulary, None, stored.casing, settings=stored.settings)
    warn_of_few_predictions(masking, max_seq_length)
    tokenizer = FullTokenizer(vocabulary, do_lower_case, CACHE_SIZE, stored.settings)
    num_ids = vocabulary.size
    if masking.whole_words_from == SPACES:
        tokenizer = SpaceWordTokenizer(tokenizer, CACHE_SIZE)
        num_ids *= 2
    return ShardJob(
        tokenizer=tokenizer,
        typecode=token_typecode(num_ids),
        # Without workers, read like Google's script: a document continues in the next file.
        files_end_documents=settings.workers.num_workers > 0 or bool(settings.beam.runner),
        sampling=Sampling.of(vocabulary.ids, max_seq_length, masking),
        dupe_factor=settings.instances.dupe_factor,
        random_seed=settings.seed.random_seed,
    )


def write_instances(
    job: ShardJob, workers: Workers, corpus: CorpusSize, work_folder: str, paths: list[str], num_shards: int
) -> dict[str, int]:
    """Write the TFRecord files, and return counts for the report.

    Args:
        job: tokenizer and settings for the instances.
        workers: processes. Without any, this writes one stream of records, like Google's script.
        corpus: the tokenized corpus' size.
        work_folder: directory for intermediate files.
        paths: TFRecord files to write.
        num_shards: number of shards for the workers; 0 chooses it by the corpus size.
    """
    total = corpus.num_documents * job.dupe_factor
    unit = "documents"
    if workers.count:
        total = num_shards = num_shards or choose_num_shards(corpus, job.dupe_factor, len(paths))
        unit = "shards"
        LOG.info("%d shards; --num_shards=%d repeats this with another number of workers", num_shards, num_shards)
    with Progress("making instances", total, every=max(1, total // 10), unit=unit) as progress:
        if not workers.count:
            return dict(write_single_stream(job, corpus, work_folder, paths, progress.update))
        counts = write_sharded(workers, corpus, work_folder, paths, num_shards, progress.update)
    return dict(counts) | {"num_shards": num_shards}


def log_first(paths: list[str], tokenizer: FullTokenizer, count: int) -> None:
    """Log the first `count` instances, taking one from each file in turn, in the order of writing.

    Args:
        paths: TFRecord files.
        tokenizer: converts ids to tokens.
        count: number of instances.
    """
    readers = [read_records(path) for path in paths[:count]]
    rounds = itertools.zip_longest(*readers)
    records = (record for row in rounds for record in row if record is not None)
    for record in itertools.islice(records, count):
        for line in format_instance(decode_example(record), tokenizer):
            LOG.info(line)
