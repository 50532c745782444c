"""bert-create-pretraining-data --runner: a pipeline of Apache Beam from beginning to end."""

import codecs
import importlib.util
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
from bert_cli.corpus.shards import Job
from bert_cli.corpus.store import check_has_sentences
from bert_cli.settings.pretraining import Beam

_RUNNERS = {
    # Beam's DirectRunner would download a program and run it.
    "direct": "apache_beam.runners.portability.fn_api_runner.FnApiRunner",
    "dataflow": "DataflowRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
}


def check_beam(values: dict[str, Any]) -> None:
    """InputError for flags that do not go with --runner, or need it."""
    runner = values["runner"]
    if not runner:
        refuse_if(values["beam_options"], "--beam_options needs --runner")
        return
    refuse_if(
        values["num_workers"],
        "--num_workers: --runner has workers of its own; leave it out, or give Beam's in --beam_options",
    )
    encoding = values["encoding"]
    is_utf8 = codecs.lookup(encoding).name == UTF_8
    refuse_if(
        not is_utf8, f"--encoding={encoding}: --runner reads UTF-8; leave --runner out, or save the files as UTF-8"
    )
    source = values["input_file"]
    refuse_if(STANDARD in source.split(","), f"--input_file={source}: --runner reads files, not standard input")
    refuse_if(
        importlib.util.find_spec("apache_beam") is None,
        f"--runner={runner} needs the package apache-beam, which is not installed: pip install 'bert_cli[beam]'",
    )


def check_reachable(runner: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """InputError for local files where the machines that do the work are elsewhere for certain."""
    near = [path for path in (*inputs, *outputs) if not files.is_remote(path)]
    if runner == "dataflow" and near:
        raise InputError(
            f"{near[0]}: --runner=dataflow works on machines that do not see it; give gs://… for all files"
        )


def make_with_beam(
    job: Job, inputs: Sequence[str], outputs: Sequence[str], num_shards: int, settings: Beam
) -> dict[str, Any]:
    """Write the TFRecord files `outputs`; returns counts of the corpus and of the instances, and
    reading_seconds.

    num_shards: 0 for as many as suit the corpus. Intermediate files are in a hidden folder next to
    the first output.
    """
    import apache_beam

    runner = str(settings.runner)
    began = time.time()
    options = _options(settings)
    with staging_folder(os.path.dirname(outputs[0]) or ".", may_be_remote=True) as folder:
        LOG.info("%d files go through Apache Beam, --runner=%s", len(inputs), runner)
        try:
            with apache_beam.Pipeline(options=options) as pipeline:
                beam.add_steps(pipeline, job, inputs, len(outputs), num_shards, folder)
        except Exception as error:  # of whatever kind the runner, or what it runs, raises
            LOG.debug("the pipeline of --runner=%s", runner, exc_info=True)
            # The last line is the error itself: a runner puts the worker's whole traceback before
            # it.
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = lines[-1][:300] if lines else type(error).__name__
            raise InputError(f"--runner={runner}: the pipeline failed, and nothing was written: {reason}") from None
        read = read_json_object(os.path.join(folder, beam.READ))
        if read[beam.ERROR]:
            raise InputError(read[beam.ERROR])
        check_has_sentences(read[beam.CORPUS]["documents"])
        counts: Counter[str] = Counter()
        for number in range(len(outputs)):
            counts.update(read_json_object(beam.counts_path(folder, number, len(outputs))))
        for number, path in enumerate(outputs):
            move_file(beam.output_path(folder, number, len(outputs)), path)
    LOG.info("%d shards; --num_shards=%d repeats this", read["num_shards"], read["num_shards"])
    return {
        **read[beam.CORPUS],
        "num_shards": read["num_shards"],
        "reading_seconds": max(0.0, read["time"] - began),
        **counts,
    }


def _options(settings: Beam) -> Any:
    """Beam's PipelineOptions. InputError for one that Beam does not know, or that has a wrong
    value.
    """
    from apache_beam.options.pipeline_options import PipelineOptions

    words = [f"--runner={_RUNNERS[str(settings.runner)]}", *settings.beam_options]
    try:
        options = PipelineOptions(words)
        # Beam ignores options that it does not know, also misspelt ones.
        known = PipelineOptions([]).get_all_options()
        unknown = sorted(set(options.get_all_options(retain_unknown_options=True)) - set(known))
    except SystemExit:  # of argparse, which has said why
        raise InputError(
            f"--beam_options={' '.join(settings.beam_options)}: Beam does not take these options"
        ) from None
    if unknown:
        raise InputError(f"--beam_options: Beam has no option --{unknown[0]}")
    return options
