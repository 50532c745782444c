"""Loading of --distill_from's teacher, which is another trained classifier."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.flags.option import flag_values
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.single_label import SINGLE_LABEL
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.trained import check_command, load_with_settings
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.decoder import make_decoder
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.flag_checks import problem_type_from_flags
from bert_cli.runs.tasks.interface import Task
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import Inference
from bert_cli.weights.path import find_checkpoint


def load_teacher(
    task_type: type[Task[AnyModel, ClassificationDataset]],
    settings: ClassifySettings,
    labels: tuple[str, ...],
    problem_type: ProblemType,
) -> Teacher:
    """Return the teacher of --distill_from; it imports TensorFlow when it predicts.

    Args:
        task_type: ClassificationTask, which this module cannot import.
        settings: flags of the student's run.
        labels: the student's labels.
        problem_type: the student's problem type.

    Raises:
        InputError: there is no such model, or it has another problem type or other labels.
    """
    path = settings.distillation.distill_from
    if problem_type.decoder.distillation_refusal:
        raise InputError(f"--distill_from: {problem_type.decoder.distillation_refusal}")
    checkpoint = find_checkpoint(path, "distill_from")
    check_command(checkpoint, task_type.command)
    # Take only this command's flags: the group's other flags would be refused.
    device_fields = {field.name for field in dataclasses.fields(settings.devices)}
    devices = {name: value for name, value in flag_values(settings).items() if name in device_fields}
    teacher_settings, model = load_with_settings(checkpoint, ClassifySettings, devices)
    task = task_type(teacher_settings)
    teacher_type = problem_type_from_flags(teacher_settings) or model.problem_type or SINGLE_LABEL
    teacher_labels = model.labels or ()
    # The student learns probabilities, so thresholds.json is not needed; a copied model may lack it.
    decoder = make_decoder(teacher_type, teacher_labels, Inference(), False, ())
    data = ClassificationDataset(teacher_settings, decoder, model.tokenizer)
    if data.problem_type is not problem_type:
        raise InputError(
            f"--distill_from={path}: is a model of {data.problem_type.name}, and {problem_type.name} is to be trained"
        )
    # The order may differ: Teacher.columns maps the teacher's outputs to the student's labels.
    if set(data.labels) != set(labels):
        raise InputError(
            f"--distill_from={path}: its labels are {', '.join(data.labels) or 'not known'}, and those to be trained "
            f"{', '.join(labels)}; give a model of the same labels, or --labels"
        )

    def predict(examples: Sequence[ClassificationExample]) -> np.ndarray:
        features = data.features(examples)
        # Use TensorFlow even if --engine asks for onnxruntime: the student is trained with
        # TensorFlow in the same process.
        session = opening.open_session(task, model, data, teacher_settings)
        session.load_trained(checkpoint)
        batch_size = teacher_settings.inference.predict_batch_size
        return session.infer(features, batch_size, "asking the teacher")["probabilities"]

    return Teacher(checkpoint.identity, predict, [data.labels.index(label) for label in labels], problem_type)
