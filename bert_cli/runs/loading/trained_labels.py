"""What a trained model's own files say of it: which kind of problem, and which labels."""

import os

from bert_cli.base.errors import InputError
from bert_cli.base.names import HUGGING_FACE_CONFIG
from bert_cli.examples.glue import TASKS
from bert_cli.runs.loading.sources import ModelSources, read_labels
from bert_cli.runs.output_dir.manifest import check_labels
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath


def stated_problem_type(model: ModelSources) -> str | None:
    """One of kinds.PROBLEM_TYPES, as the flags.txt of its run or its Hugging Face config.json says; None where neither does."""
    saved, checkpoint = model.saved_flags, model.checkpoint
    if saved.get("task_name") in TASKS:
        return TASKS[saved["task_name"]].kind
    if "problem_type" in saved:
        return saved["problem_type"]
    if checkpoint is None or checkpoint.kind != HUGGING_FACE:
        return None
    # Imports no TensorFlow, but safetensors, which only this case needs.
    from bert_cli.weights.hugging_face_writing import read_hugging_face_problem

    return read_hugging_face_problem(os.path.join(checkpoint.location, HUGGING_FACE_CONFIG))


def agreed_labels(given: tuple[str, ...] | None, saved: tuple[str, ...] | None, folder: str) -> tuple[str, ...] | None:
    """The labels of the flag or of the files in a model's folder. InputError where both are there and differ."""
    if given and saved and given != saved:
        raise InputError(
            f"--labels={','.join(given)}: the model in {folder} was trained with {','.join(saved)}, in this order; leave "
            "--labels out"
        )
    return given or saved


def trained_labels(given: tuple[str, ...], checkpoint: CheckpointPath) -> tuple[str, ...]:
    """The labels of the flag or of a trained model. InputError where both are there and differ, or its labels.txt is lost."""
    saved = read_labels(checkpoint)
    if not given and not saved:
        check_labels((), checkpoint)  # a run of ours had some
    return agreed_labels(given, saved, checkpoint.folder) or ()
