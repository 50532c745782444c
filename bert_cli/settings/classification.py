"""The flags of bert-classify, for the command and for the same models from Python."""

import dataclasses

from bert_cli.settings.groups import (
    DataFolder,
    Devices,
    Evaluation,
    FineTuning,
    Hub,
    HubTraining,
    Input,
    Labels,
    Length,
    Log,
    ModelFiles,
    NewText,
    Output,
    Phases,
    Prediction,
    Saving,
    SecondText,
    Seed,
    Start,
    Training,
)
from bert_cli.settings.option import group, option


@dataclasses.dataclass(frozen=True)
class Classification:
    """Data"""

    task_name: str = option(
        "", "cola (four columns, any labels), mrpc, mnli or xnli", decides=True, remembered=True, read=str.lower
    )
    header: str = option(
        "auto",
        "whether the first row of a file is a header; auto: Google's rule",
        choices=("auto", "yes", "no"),
        remembered=True,
    )


@dataclasses.dataclass(frozen=True)
class ClassifySettings:
    """The flags of bert-classify."""

    task: Classification = group(Classification)
    data: DataFolder = group(
        DataFolder,
        {"data_dir": "folder with train.tsv, dev.tsv and test.tsv (names as the task has them)"},
        data_dir="data",
    )
    labels: Labels = group(Labels)
    length: Length = group(Length)
    start: Start = group(Start)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    hub_training: HubTraining = group(HubTraining)
    phases: Phases = group(Phases, {"do_train": "train on the train file", "do_eval": "evaluate on the dev file"})
    prediction: Prediction = group(Prediction)
    evaluation: Evaluation = group(Evaluation)
    new: NewText = group(NewText, {"text": "classify this text with a trained model and print the result as JSON"})
    second: SecondText = group(SecondText)
    input: Input = group(
        Input,
        {
            "input_file": "classify a text a line, or a pair with ' ||| ' between, with a trained model; - for standard "
            "input; the result is JSON"
        },
    )
    output: Output = group(
        Output, {"output_file": "file for the JSON lines of --input_file, - for standard output"}, output_file="-"
    )
    training: Training = group(Training)
    fine_tuning: FineTuning = group(FineTuning)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices)
    log: Log = group(Log)
