"""Pre-training instances with Apache Beam: bert-create-pretraining-data --runner."""

import codecs
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import STANDARD
from bert_cli.base.recoding import UTF_8
from bert_cli.base.writing import move_file, staging_folder
from bert_cli.corpus import beam
from bert_cli.corpus.shards import ShardJob
from bert_cli.corpus.store import check_has_sentences
from bert_cli.runtime.installing import require_packages
from bert_cli.settings.pretraining import Beam
from bert_cli.settings.texts import CorpusForm

_RUNNERS = {
    # Do not use Beam's DirectRunner, which may download and run a program.
    "direct": "apache_beam.runners.portability.fn_api_runner.FnApiRunner",
    "dataflow": "DataflowRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
}


def check_beam(runner: str, encoding: str, input_file: str) -> None:
    """Raise InputError if a runner cannot read the input, or if Beam is missing.

    Args:
        input_file: value of --input_file.
    """
    is_utf8 = codecs.lookup(encoding).name == UTF_8
    refuse_if(
        not is_utf8, f"--encoding={encoding}: --runner reads UTF-8; leave --runner out, or save the files as UTF-8"
    )
    refuse_if(STANDARD in input_file.split(","), f"--input_file={input_file}: --runner reads files, not standard input")
    require_packages(["apache_beam"], f"--runner={runner}", "beam")


def check_reachable(runner: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Raise InputError if the runner's machines cannot see local files.

    Args:
        inputs: paths to read.
        outputs: paths to write.
    """
    local_paths = [path for path in (*inputs, *outputs) if not files.is_remote(path)]
    if runner == "dataflow" and local_paths:
        raise InputError(
            f"{local_paths[0]}: --runner=dataflow works on machines that do not see it; give gs://… for all files"
        )


def make_with_beam(
    job: ShardJob, inputs: Sequence[str], outputs: Sequence[str], num_shards: int, settings: Beam, form: CorpusForm
) -> dict[str, Any]:
    """Write TFRecord files with a Beam pipeline.

    Intermediate files are in a hidden directory next to the first output.

    Args:
        job: tokenizer and settings for the instances.
        inputs: text files.
        outputs: TFRecord files to write.
        num_shards: number of shards; 0 chooses it by the corpus size.
        form: column in text files.

    Returns:
        Counts for the corpus and the instances, num_shards and reading_seconds, for the report.

    Raises:
        InputError: if the pipeline fails, or the corpus has no sentence.
    """
    import apache_beam

    runner = str(settings.runner)
    start_time = time.time()
    options = _options(settings)
    with staging_folder(os.path.dirname(outputs[0]) or ".", may_be_remote=True) as folder:
        LOG.info("%d files go through Apache Beam, --runner=%s", len(inputs), runner)
        try:
            with apache_beam.Pipeline(options=options) as pipeline:
                beam.add_steps(pipeline, job, inputs, len(outputs), num_shards, folder, form)
        # Catch everything: each runner has its own exceptions.
        except Exception as error:
            LOG.debug("the pipeline of --runner=%s", runner, exc_info=True)
            # Use the last line, which is the error; a runner puts the worker's traceback before it.
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = lines[-1][:300] if lines else type(error).__name__
            raise InputError(f"--runner={runner}: the pipeline failed, and nothing was written: {reason}") from None
        summary = read_json_object(os.path.join(folder, beam.READ))
        if summary[beam.ERROR]:
            raise InputError(summary[beam.ERROR])
        check_has_sentences(summary[beam.CORPUS]["documents"])
        counts: Counter[str] = Counter()
        for number in range(len(outputs)):
            counts.update(read_json_object(beam.counts_path(folder, number, len(outputs))))
        for number, path in enumerate(outputs):
            move_file(beam.output_path(folder, number, len(outputs)), path)
    LOG.info("%d shards; --num_shards=%d repeats this", summary["num_shards"], summary["num_shards"])
    return {
        **summary[beam.CORPUS],
        "num_shards": summary["num_shards"],
        "reading_seconds": max(0.0, summary["time"] - start_time),
        **counts,
    }


def _options(settings: Beam) -> Any:
    """Return Beam's PipelineOptions; raise InputError for an unknown option or a wrong value."""
    from apache_beam.options.pipeline_options import PipelineOptions

    arguments = [f"--runner={_RUNNERS[str(settings.runner)]}", *settings.beam_options]
    try:
        options = PipelineOptions(arguments)
        # Look for unknown options: Beam ignores them, even if they are misspelled.
        known_options = PipelineOptions([]).get_all_options()
        unknown_options = sorted(set(options.get_all_options(retain_unknown_options=True)) - set(known_options))
    # argparse has already printed the reason.
    except SystemExit:
        raise InputError(
            f"--beam_options={' '.join(settings.beam_options)}: Beam does not take these options"
        ) from None
    if unknown_options:
        raise InputError(f"--beam_options: Beam has no option --{unknown_options[0]}")
    return options
