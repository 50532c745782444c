"""The teacher of --distill_from, and its logits for the training data, computed once per run."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import TEACHER
from bert_cli.base.writing import atomic_write
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.flags.option import flag_values
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.head_labels import describe_renamed, match_names
from bert_cli.opening.trained import check_command, load_with_settings
from bert_cli.problem_types.optional_parts import Distiller, require
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.data import find_trained_type
from bert_cli.runs.tasks.classification.decoder import FittingDecoder, make_fitting_decoder
from bert_cli.runs.tasks.interface import Task
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.devices import TENSORFLOW
from bert_cli.settings.groups import Inference
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.weights.path import find_checkpoint


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A trained classifier; a student learns its probabilities.

    Attributes:
        identity: the teacher's name in a run's manifest.
        predict: predict(examples) returns the teacher's probabilities, float32 [n, outputs].
        columns: index of the teacher's output for each student label.
        distiller: makes the targets.
    """

    identity: str
    predict: Callable[[Sequence[ClassificationExample]], np.ndarray]
    columns: list[int]
    distiller: Distiller

    def teach(
        self,
        features: ClassificationFeatures,
        examples: Sequence[ClassificationExample],
        num_labeled: int,
        directory: RunDirectory | None,
        resumes: bool,
        is_chief: bool,
    ) -> ClassificationFeatures:
        """Return the features with the teacher's logits, in the student's label order.

        A new run computes the logits and stores them. A resumed run reads them, so it does not need
        the teacher.

        Args:
            features: features for training.
            examples: the same examples; labeled ones come first.
            num_labeled: number of examples with labels.
            directory: output directory, None for a dry run.
            resumes: whether the run continues from a checkpoint.
            is_chief: whether this process writes files.
        """
        shape = (len(examples), len(self.columns))
        path = directory.file(TEACHER) if directory else ""
        if directory is None:
            # A step takes the same time with any logits, and the teacher could take longer than the
            # whole dry run.
            LOG.info("the estimate excludes the teacher's single pass over the data")
            logits = np.zeros(shape, np.float32)
        elif resumes and files.exists(path):
            logits = read_logits(path, shape)
        else:
            logits = self.distiller.teacher_logits(self.predict(examples)[:, self.columns])
            if is_chief:
                with atomic_write(path, "wb") as file:
                    np.save(file, logits)
        # Labelled examples come first, see ClassificationDataset.training_features.
        has_label = (np.arange(len(features)) < num_labeled).astype(np.float32)
        return dataclasses.replace(features, teacher_logits=logits, has_label=has_label)


def read_logits(path: str, shape: tuple[int, int]) -> np.ndarray:
    """Return the logits that a run has stored, float32 of this shape.

    Raise InputError if the file is damaged, or belongs to other rows.
    """
    try:
        with files.open_binary(path) as file:
            logits = np.load(file, allow_pickle=False)
    # np.load raises these for an incomplete file. allow_pickle could run code in an untrusted file.
    except (ValueError, EOFError):
        logits = None
    if not isinstance(logits, np.ndarray) or logits.dtype != np.float32 or logits.shape != shape:
        raise InputError(f"{path}: is not what this run has kept of its teacher; remove it, and it is computed again")
    return logits


def load_teacher(
    task_type: type[Task[AnyModel, Any, Any]],
    dataset_type: Callable[[ClassifySettings, FittingDecoder, FullTokenizer], Any],
    settings: ClassifySettings,
    labels: tuple[str, ...],
    problem_type: ProblemType,
) -> Teacher:
    """Return the teacher of --distill_from; it imports TensorFlow when it predicts.

    Args:
        task_type: ClassificationTask, which this module cannot import.
        dataset_type: ClassificationDataset, which this module cannot import.
        settings: flags of the student's run.
        labels: the student's labels.
        problem_type: the student's problem type.

    Raises:
        InputError: there is no such model, or it has another problem type or other labels.
    """
    path = settings.distillation.distill_from
    distiller = require(problem_type.distiller, "--distill_from")
    checkpoint = find_checkpoint(path, "distill_from")
    check_command(checkpoint, task_type.command)
    # Take only this command's flags: the group's other flags would be refused.
    device_fields = {field.name for field in dataclasses.fields(settings.devices)}
    devices = {name: value for name, value in flag_values(settings).items() if name in device_fields}
    teacher_settings, model = load_with_settings(checkpoint, ClassifySettings, devices)
    task = task_type(teacher_settings)
    teacher_type = find_trained_type(teacher_settings, model)
    teacher_labels = model.head.label_names(teacher_type, task_name=teacher_settings.task.task_name) or ()
    # The student learns probabilities, so thresholds.json
    # is not needed; a copied model may lack it.
    decoder = make_fitting_decoder(teacher_type, teacher_labels, Inference(), False, ())
    data = dataset_type(teacher_settings, decoder, model.tokenizer)
    if teacher_type is not problem_type:
        raise InputError(
            f"--distill_from={path}: is a model of {teacher_type.name}, and {problem_type.name} is to be trained"
        )
    # The order may differ: Teacher.columns maps the teacher's outputs to the student's labels.
    columns = [column for column in match_names(teacher_labels, labels) if column is not None]
    if not len(columns) == len(labels) == len(teacher_labels):
        raise InputError(
            f"--distill_from={path}: its labels are {', '.join(teacher_labels) or 'not known'}, and those to be trained "
            f"{', '.join(labels)}; give a model of the same labels, or --labels"
        )

    if renamed := describe_renamed(teacher_labels, labels, columns):
        LOG.info("%s: %s", path, renamed)

    def predict(examples: Sequence[ClassificationExample]) -> np.ndarray:
        length, long_text = teacher_settings.encoding.max_seq_length, teacher_settings.encoding.long_text
        # The labels do not matter here, and the teacher may write them in another way.
        unlabeled = [dataclasses.replace(example, label=None) for example in examples]
        features = classification_features(unlabeled, teacher_labels, model.tokenizer, length, teacher_type, long_text)
        # Use TensorFlow even if --engine asks for onnxruntime: the student is trained with
        # TensorFlow in the same process.
        settings = dataclasses.replace(
            teacher_settings, devices=dataclasses.replace(teacher_settings.devices, engine=TENSORFLOW)
        )
        predictor, _ = opening.open_trained_task(task, model, data, settings)
        batch_size = teacher_settings.inference.predict_batch_size
        predictions, _ = decoder.infer_raw(predictor, features, batch_size, "asking the teacher")
        return predictions["probabilities"]

    return Teacher(checkpoint.identity, predict, columns, distiller)
