"""Make masked-LM and next-sentence instances, as Google's create_pretraining_data.py does.

It reads plain text with one sentence per line and empty lines between documents. It writes TFRecord
files for bert-pretrain or Google's run_pretraining.py. For the same seed they are Google's records.
The log shows the first records, and a table at the end has the counts and the speed.

For a large corpus, --num_workers=8 --output_file=data.tfrecord@16 uses eight processes, in little
memory, and writes data.tfrecord-00000-of-00016 and so on. The instances then differ from Google's,
with the same statistics. They depend on --random_seed and --num_shards, not on --num_workers. The
disk needs room for twice the output. --runner=dataflow makes the same records on many machines, with
Apache Beam (the extra `beam`). It needs an input file per machine, on a filesystem for all of them.

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

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.lines import find_inputs
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.base.writing import atomic_paths, staging_folder
from bert_cli.corpus.shards import ShardJob
from bert_cli.corpus.workers import Workers
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.command import Command
from bert_cli.outputs.preparation import pretraining_data_shares, pretraining_data_warnings, pretraining_table
from bert_cli.runs.preparation.beam import check_beam, check_reachable, make_with_beam
from bert_cli.runs.preparation.corpus import MAX_LOGGED_FILES, read_corpus
from bert_cli.runs.preparation.instances import expand_outputs, log_first, prepare_job, write_instances
from bert_cli.settings.pretraining import CreateDataSettings
from bert_cli.settings.texts import CorpusForm

_LOGGED_EXAMPLES = 2  # examples to log without --verbose


def check(settings: CreateDataSettings, given_names: frozenset[str]) -> CreateDataSettings:
    """Return the settings; raise InputError if a runner cannot do the work."""
    check_max_seq_length(settings.encoding.max_seq_length, pairs=True)
    if settings.beam.runner:
        check_beam(settings.beam.runner, settings.text_files.encoding, settings.files.input_file)
    return settings


def run(settings: CreateDataSettings) -> dict:
    """Write the examples, and return the figures that the table shows."""
    start_seconds = time.monotonic()
    inputs = find_inputs(settings.files.input_file)
    outputs = expand_outputs(settings.files.output_file)
    num_shards = settings.instances.num_shards
    if num_shards and num_shards < len(outputs):
        raise InputError(f"--num_shards={num_shards} is too few for {len(outputs)} output files")
    files.check_output_files(outputs, [*inputs, settings.vocabulary.vocab_file])
    job = prepare_job(settings)
    num_examples = EXAMPLES if LOG.isEnabledFor(logging.DEBUG) else _LOGGED_EXAMPLES
    form = CorpusForm.of(settings.columns, settings.data, settings.text_files)
    if settings.beam.runner:
        check_reachable(settings.beam.runner, inputs, outputs)
        report = make_with_beam(job, inputs, outputs, num_shards, settings.beam, form)
        log_first(outputs, job.tokenizer, num_examples)
    else:
        report = _make_locally(job, inputs, outputs, settings, form, num_examples)
    LOG.info("*** Writing to output files ***")
    for path in outputs[:MAX_LOGGED_FILES]:
        LOG.info("  %s", path)
    seconds = time.monotonic() - start_seconds
    report |= pretraining_data_shares(report) | {
        "reading_seconds": round(report["reading_seconds"], 3),
        "total_seconds": round(seconds, 3),
        "instances_per_second": report["instances"] / seconds,
        "tokens_per_second": report["instance_tokens"] / seconds,
    }
    for line in pretraining_table(report):
        LOG.info(line)
    for line in pretraining_data_warnings(report):
        LOG.warning("warning: %s", line)
    LOG.info("Wrote %d total instances", report["instances"])
    return report


def _make_locally(
    job: ShardJob,
    inputs: list[str],
    outputs: list[str],
    settings: CreateDataSettings,
    form: CorpusForm,
    num_examples: int,
) -> JsonObject:
    """Write the files with local processes, log the first instances, and return counts.

    Args:
        job: seed, tokenizer and limits for making instances.
        inputs: text files.
        outputs: TFRecord files.
        form: column and encoding of the text files.
        num_examples: number of instances to log.

    Returns:
        Counts of documents, sentences and instances, and reading_seconds.
    """
    start_seconds = time.monotonic()
    with (
        # Use the output's disk, which must have the space anyway.
        staging_folder(os.path.dirname(outputs[0]) or ".") as folder,
        atomic_paths(outputs, extra_folder=folder) as paths,
        Workers(settings.workers.num_workers, job) as workers,
    ):
        corpus = read_corpus(inputs, workers, folder, form)
        report: JsonObject = {**corpus.counts, "reading_seconds": time.monotonic() - start_seconds}
        report |= write_instances(job, workers, corpus, folder, paths, settings.instances.num_shards)
        log_first(paths, job.tokenizer, num_examples)
    return report


main = Command(
    "bert-create-pretraining-data", __doc__, CreateDataSettings, run, check, interrupted="nothing was written"
)


if __name__ == "__main__":
    raise SystemExit(main())
