"""Make masked-LM and next-sentence instances from plain text, as Google's create_pretraining_data.py does.

It reads text with one sentence per line and empty lines between documents, and writes TFRecord files for bert-pretrain or
for Google's run_pretraining.py: for the same seed, Google's records. It shows the first records and ends with a table:
documents, sentences, instances, fractions of random next sentences, masked tokens and truncated tokens, tokens per second.

For a large corpus, --num_workers=8 --output_file=data.tfrecord@16 uses eight processes, in little
memory, and writes data.tfrecord-00000-of-00016 and so on. The instances then differ from Google's,
with the same statistics; they depend on --random_seed and --num_shards, not on --num_workers. The
disk needs room for twice the output. --runner=dataflow makes the same records on many machines,
with Apache Beam (the extra `beam`): with one input file or more for each machine, on a filesystem
that all of them see.

Examples:

    bert-create-pretraining-data --input_file=data/pretraining/corpus.txt \\
      --output_file=bert_output/data.tfrecord \\
      --vocab_file=bert_cli/builtin/vocab.txt
    bert-create-pretraining-data --input_file=data/pretraining/corpus.txt \\
      --output_file=bert_output/shards.tfrecord@4 --num_workers=2 \\
      --vocab_file=bert_cli/builtin/vocab.txt
"""

import logging
import os
import time
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.base.writing import atomic_paths, staging_folder
from bert_cli.corpus.shards import Job
from bert_cli.corpus.text import find_inputs
from bert_cli.corpus.workers import Workers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.command import Command
from bert_cli.outputs.preparation import pretraining_table, shares, warnings
from bert_cli.runs.preparation.beam import check_beam, check_reachable, make_with_beam
from bert_cli.runs.preparation.corpus import LOGGED, read_corpus
from bert_cli.runs.preparation.instances import expand_outputs, log_first, prepare_job, write_instances
from bert_cli.settings.groups import check_share
from bert_cli.settings.pretraining import CreateDataSettings, check_whole_words

_SHOWN = 2  # examples in the log without --verbose


def check(values: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """The checks of the flags that need no file."""
    for name in ("input_file", "output_file", "vocab_file"):
        if name not in given:
            raise InputError(f"--{name} is needed; --help describes it")
    check_max_seq_length(values["max_seq_length"], pairs=True)
    check_share("masked_lm_prob", values["masked_lm_prob"])
    check_whole_words(values)
    check_beam(values)
    if values["num_shards"] and not (values["num_workers"] or values["runner"]):
        raise InputError(
            "--num_shards needs --num_workers or --runner: without, there is one stream of records, as Google's"
        )
    return values


def run(settings: CreateDataSettings) -> dict:
    """Do what the settings say; returns the figures of the table."""
    began = time.monotonic()
    inputs = find_inputs(settings.files.input_file)
    outputs = expand_outputs(settings.files.output_file)
    num_shards = settings.instances.num_shards
    if num_shards and num_shards < len(outputs):
        raise InputError(f"--num_shards={num_shards} is too few for {len(outputs)} output files")
    files.check_output_files(outputs, [*inputs, settings.vocabulary.vocab_file])
    job = prepare_job(settings)
    examples = EXAMPLES if LOG.isEnabledFor(logging.DEBUG) else _SHOWN
    if settings.beam.runner:
        check_reachable(settings.beam.runner, inputs, outputs)
        report = make_with_beam(job, inputs, outputs, num_shards, settings.beam)
        log_first(outputs, job.tokenizer, examples)
    else:
        report = _make_here(job, inputs, outputs, settings, examples)
    LOG.info("*** Writing to output files ***")
    for path in outputs[:LOGGED]:
        LOG.info("  %s", path)
    seconds = time.monotonic() - began
    report |= shares(report) | {
        "reading_seconds": round(report["reading_seconds"], 3),
        "total_seconds": round(seconds, 3),
        "instances_per_second": report["instances"] / seconds,
        "tokens_per_second": report["instance_tokens"] / seconds,
    }
    for line in pretraining_table(report):
        LOG.info(line)
    for line in warnings(report):
        LOG.warning("warning: %s", line)
    LOG.info("Wrote %d total instances", report["instances"])
    return report


def _make_here(
    job: Job, inputs: list[str], outputs: list[str], settings: CreateDataSettings, examples: int
) -> dict[str, Any]:
    """Write the files with processes of this machine and log the first instances; returns counts
    and reading_seconds.
    """
    began = time.monotonic()
    with (
        # On the disk of the output, which must have the space anyway.
        staging_folder(os.path.dirname(outputs[0]) or ".") as folder,
        atomic_paths(outputs, extra_folder=folder) as paths,
        Workers(settings.workers.num_workers, job) as workers,
    ):
        corpus = read_corpus(inputs, workers, folder, settings.text_files.encoding)
        report: dict[str, Any] = {**corpus.counts, "reading_seconds": time.monotonic() - began}
        report |= write_instances(job, workers, corpus, folder, paths, settings.instances.num_shards)
        log_first(paths, job.tokenizer, examples)
    return report


main = Command(
    "bert-create-pretraining-data", __doc__, CreateDataSettings, run, check, interrupted="nothing was written"
)


if __name__ == "__main__":
    raise SystemExit(main())
