"""Make masked-LM and next-sentence instances from plain text, as Google's create_pretraining_data.py does.

    bert-create-pretraining-data --input_file=corpus.txt --output_file=data.tfrecord --vocab_file=vocab.txt

reads one sentence a line, with a blank line between documents, and writes TFRecord files for bert-pretrain, or for
Google's run_pretraining.py: for the same seed, Google's records. It shows the first of them and ends with a table:
documents, sentences, instances, share of random next sentences, of masked and of cut-off tokens, tokens per second.

For a large corpus, --num_workers=8 --output_file=data.tfrecord@16 uses eight processes, in little memory, and writes
data.tfrecord-00000-of-00016 and so on. The instances are then other ones, though of the same kind; they depend on
--random_seed and --num_shards, not on --num_workers. Room on the disk is needed for twice the output.
"""

import dataclasses
import itertools
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import UNFINISHED
from bert_cli.base.writing import atomic_paths
from bert_cli.corpus.instances import Sampling
from bert_cli.corpus.masking import make_masking
from bert_cli.corpus.shards import Job, choose_num_shards, write_sharded, write_single_stream
from bert_cli.corpus.store import CorpusSize
from bert_cli.corpus.text import find_inputs, token_typecode
from bert_cli.corpus.workers import Workers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.outputs.pretraining_data import format_instance, format_table, shares, warnings
from bert_cli.outputs.progress import Progress
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from bert_cli.runs import sources
from bert_cli.runs.corpus_reading import CACHE_SIZE, LOGGED, read_corpus
from bert_cli.settings.flags import CommandFlags, run_command
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary

LOG = logging.getLogger("bert_cli")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-create-pretraining-data; see define_flags for their meaning."""

    input_file: str
    output_file: str
    vocab_file: str
    do_lower_case: bool = True
    do_whole_word_mask: bool = False
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    random_seed: int = 12345
    dupe_factor: int = 10
    masked_lm_prob: float = 0.15
    short_seq_prob: float = 0.1
    num_workers: int = 0
    num_shards: int = 0


def define_flags(flags: CommandFlags) -> None:
    flags.section("Files")
    flags.string(
        "input_file",
        None,
        "text files, one sentence a line, blank lines between documents: names or patterns such as 'text/*.txt' with "
        "commas between, - for standard input; gzip is recognized",
    )
    flags.string(
        "output_file",
        None,
        "TFRecord files with commas between; name@8 stands for name-00000-of-00008 to name-00007-of-00008",
    )
    flags.string("vocab_file", None, "vocab.txt of the model")
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; false for a cased model")
    flags.section("Instances")
    flags.integer("max_seq_length", 128, "longest sequence in tokens")
    flags.integer("max_predictions_per_seq", 20, "most masked tokens in a sequence", lower=1)
    flags.float("masked_lm_prob", 0.15, "share of the tokens that is masked")
    flags.boolean("do_whole_word_mask", False, "mask all pieces of a word or none")
    flags.float("short_seq_prob", 0.1, "share of the documents made into shorter sequences", lower=0.0, upper=1.0)
    flags.integer("dupe_factor", 10, "passes over the text, each with other pairs and masks", lower=1)
    flags.integer("random_seed", 12345, "seed of all that is drawn")
    flags.section("Work")
    flags.integer(
        "num_workers",
        0,
        "0: Google's records, made one after the other, and a document goes on from one file into the next; 1 or more: "
        "so many processes, and a document ends with its file",
        lower=0,
    )
    flags.integer(
        "num_shards",
        0,
        "with --num_workers: into how many pieces the work is divided, each with a seed of its own; 0: 16, or more for a "
        "large corpus. Shard s goes to output file s modulo their number",
        lower=0,
    )


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings, with the checks that need no file."""
    for name in ("input_file", "output_file", "vocab_file"):
        if name not in given:
            raise InputError(f"--{name} is needed; --help describes it")
    check_max_seq_length(values["max_seq_length"], pairs=True)
    if not 0 < values["masked_lm_prob"] <= 1:
        raise InputError(f"--masked_lm_prob={values['masked_lm_prob']}: a number above 0 and up to 1 is needed")
    if values["num_shards"] and not values["num_workers"]:
        raise InputError("--num_shards needs --num_workers: without, there is one stream of records, as Google's")
    return Settings(**values)


def expand_outputs(output_file: str) -> list[str]:
    """Paths for a value of --output_file. InputError for a number of files that is not between 1 and 99999."""
    paths = []
    for item in output_file.split(","):
        sharded = re.fullmatch(r"(.+)@(\d+)", item)
        count = int(sharded[2]) if sharded else 1
        if not item or not 1 <= count <= 99999:
            raise InputError(f"--output_file={output_file}: {item!r} is not a name, or name@N with N from 1 to 99999")
        paths += [f"{sharded[1]}-{number:05d}-of-{count:05d}" for number in range(count)] if sharded else [item]
    if len(set(paths)) < len(paths):
        raise InputError(f"--output_file={output_file}: a name comes twice; each file needs its own")
    return paths


def prepare_job(settings: Settings) -> Job:
    """The vocabulary, and all that decides the instances."""
    vocabulary = read_vocabulary(settings.vocab_file)
    sources.check_casing(settings.do_lower_case, vocabulary, None)
    expected = settings.max_seq_length * settings.masked_lm_prob
    if settings.max_predictions_per_seq < int(expected):
        LOG.warning(
            "warning: --max_predictions_per_seq=%d masks less than --masked_lm_prob says; %d would do for "
            "--max_seq_length=%d",
            settings.max_predictions_per_seq, -int(-expected // 1), settings.max_seq_length,
        )  # fmt: skip
    masking = make_masking(
        vocabulary.ids, settings.max_predictions_per_seq, settings.masked_lm_prob, settings.do_whole_word_mask
    )
    return Job(
        tokenizer=FullTokenizer(vocabulary, settings.do_lower_case, CACHE_SIZE),
        typecode=token_typecode(vocabulary.size),
        files_end_documents=settings.num_workers > 0,
        sampling=Sampling(settings.max_seq_length, settings.short_seq_prob, masking),
        dupe_factor=settings.dupe_factor,
        random_seed=settings.random_seed,
    )


def write_instances(
    settings: Settings, job: Job, workers: Workers, corpus: CorpusSize, folder: str, paths: list[str]
) -> dict[str, int]:
    """Write the TFRecord files to `paths`; returns counts."""

    def with_progress(title: str, total: int, unit: str, write: Callable):
        with Progress(title, total, every=max(1, total // 10), unit=unit) as progress:
            return dict(write(progress.update))

    if not settings.num_workers:
        total = corpus.num_documents * settings.dupe_factor
        return with_progress(
            "making instances", total, "documents",
            lambda update: write_single_stream(job, corpus, folder, paths, update),
        )  # fmt: skip
    num_shards = settings.num_shards or choose_num_shards(corpus, settings.dupe_factor, len(paths))
    LOG.info("%d shards; --num_shards=%d repeats this with another number of workers", num_shards, num_shards)
    counts = with_progress(
        "making instances", num_shards, "shards",
        lambda update: write_sharded(job, workers, corpus, folder, paths, num_shards, update),
    )  # fmt: skip
    return counts | {"num_shards": num_shards}


def log_first(paths: list[str], tokenizer: FullTokenizer) -> None:
    """Log the first instances, one file after the other as Google's order of writing goes."""
    readers = [read_records(path) for path in paths[:LOGGED]]
    rounds = itertools.zip_longest(*readers)
    records = (record for row in rounds for record in row if record is not None)
    for record in itertools.islice(records, LOGGED):
        for line in format_instance(decode_example(record), tokenizer):
            LOG.info(line)


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the figures of the table."""
    began = time.monotonic()
    inputs, outputs = find_inputs(settings.input_file), expand_outputs(settings.output_file)
    if settings.num_shards and settings.num_shards < len(outputs):
        raise InputError(f"--num_shards={settings.num_shards} is too few for {len(outputs)} output files")
    files.check_output_files(outputs, [*inputs, settings.vocab_file])
    job = prepare_job(settings)
    beside = None if files.is_remote(outputs[0]) else os.path.dirname(outputs[0]) or "."
    with (
        atomic_paths(outputs) as paths,
        tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=beside) as folder,
        Workers(settings.num_workers, job) as workers,
    ):
        corpus = read_corpus(inputs, workers, folder)
        reading_seconds = time.monotonic() - began
        report = {
            "documents": corpus.num_documents,
            "single_sentence_documents": corpus.num_single,
            "sentences": corpus.num_sentences,
            "corpus_tokens": corpus.num_tokens,
            "unknown_tokens": corpus.num_unknown,
        }
        report |= write_instances(settings, job, workers, corpus, folder, paths)
        log_first(paths, job.tokenizer)
    LOG.info("*** Writing to output files ***")
    for path in outputs[:LOGGED]:
        LOG.info("  %s", path)
    seconds = time.monotonic() - began
    report |= shares(report) | {
        "reading_seconds": round(reading_seconds, 3),
        "total_seconds": round(seconds, 3),
        "instances_per_second": report["instances"] / seconds,
        "tokens_per_second": report["instance_tokens"] / seconds,
    }
    for line in format_table(report):
        LOG.info(line)
    for line in warnings(report):
        LOG.warning("warning: %s", line)
    LOG.info("Wrote %d total instances", report["instances"])
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-create-pretraining-data",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="nothing was written",
    )


if __name__ == "__main__":
    raise SystemExit(main())
