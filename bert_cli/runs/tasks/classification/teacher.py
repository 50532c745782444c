"""The teacher of --distill_from: another trained classifier, which is loaded here."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.flags.option import values_of
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.trained import check_command, load_with_settings
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.decoder import make_answers
from bert_cli.runs.tasks.classification.distillation import Teacher
from bert_cli.runs.tasks.classification.flag_checks import known_problem_type
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
    """The teacher of --distill_from, for a student of these labels. No TensorFlow until it
    predicts.

    InputError where there is none, or where its problem type or labels are others.
    """
    given = settings.distillation.distill_from
    if problem_type.distillation_refusal:
        raise InputError(f"--distill_from: {problem_type.distillation_refusal}")
    checkpoint = find_checkpoint(given, "distill_from")
    check_command(checkpoint, task_type.command)
    # The group has fields that are flags of other commands only; a value of one of these would be
    # refused.
    own_fields = {field.name for field in dataclasses.fields(settings.devices)}
    devices = {name: value for name, value in values_of(settings).items() if name in own_fields}
    own, model = load_with_settings(checkpoint, ClassifySettings, devices)
    task = task_type(own)
    own_type = known_problem_type(own) or model.problem_type or SINGLE_LABEL
    own_labels = model.labels or ()
    # Its probabilities are learned, so no thresholds are needed, which a copy of a model may lack.
    answers = make_answers(own_type, own_labels, Inference(), False, ())
    data = ClassificationDataset(own, answers, model.tokenizer)
    if data.problem_type is not problem_type:
        raise InputError(
            f"--distill_from={given}: is a model of {data.problem_type.name}, and {problem_type.name} is to be trained"
        )
    # The order may differ: Teacher.columns brings the teacher's outputs into the student's order.
    if set(data.labels) != set(labels):
        raise InputError(
            f"--distill_from={given}: its labels are {', '.join(data.labels) or 'not known'}, and those to be trained "
            f"{', '.join(labels)}; give a model of the same labels, or --labels"
        )

    def predict(examples: Sequence[ClassificationExample]) -> np.ndarray:
        features = data.features(examples)
        # TensorFlow also where --engine asks for onnxruntime: the student is trained with it in the
        # same process.
        session = opening.open_session(task, model, data, own)
        session.load_trained(checkpoint)
        batch_size = own.inference.predict_batch_size
        return session.infer(features, batch_size, "asking the teacher")["probabilities"]

    return Teacher(checkpoint.identity, predict, [data.labels.index(label) for label in labels], problem_type)
