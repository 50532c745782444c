"""The files of a prediction of bert-classify."""

import logging
import os
from collections.abc import Sequence
from typing import Any

from bert_cli.base.names import PREDICTIONS_TABLE, TEST_RESULTS
from bert_cli.examples.glue import GlueTask
from bert_cli.outputs.classification import write_table, write_test_results
from bert_cli.outputs.glue import write_glue_submission
from bert_cli.runs.tasks.classification.results import Answers
from bert_cli.runs.tasks.classification.split import Split, prediction_texts

LOG = logging.getLogger("bert_cli")


def prediction_files(split: str, output_format: str, submitted: GlueTask | None) -> list[str]:
    """Names of the two tables of a half of the test data, and of the submission, where there is to be one of a task."""
    half = split.removeprefix("test")
    table = f"{PREDICTIONS_TABLE.removesuffix('.tsv')}{half}.{output_format}"
    names = [f"{TEST_RESULTS.removesuffix('.tsv')}{half}.tsv", table]
    if submitted:
        names.append(f"{submitted.submission_of(half)}.tsv")
    return names


def write_predictions(
    paths: Sequence[str], split: Split, found: dict[str, Any], answers: Answers, output_format: str
) -> None:
    """Write the files that prediction_files names to these paths; found: what the model says of the split."""
    problem_type, labels = answers.problem_type, answers.labels
    decisions = problem_type.decisions(found, labels)
    write_test_results(paths[0], found[problem_type.output_name])
    columns = {"id": split.features.guids, **problem_type.prediction_columns(found, labels)}
    write_table(paths[1], columns | prediction_texts(split.examples, decisions), output_format)
    LOG.info("wrote %s and %s: %d predictions", *paths[:2], len(split.examples))
    for path in paths[2:]:
        folder, name = os.path.split(path)
        ids = [example.identifier for example in split.examples]
        write_glue_submission(folder, name.removesuffix(".tsv"), ids, decisions)
        LOG.info("wrote %s", path)
