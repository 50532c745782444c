"""Files for peft with the adapter that a run trained."""

from bert_cli.base import files
from bert_cli.base.log import LOG
from bert_cli.base.names import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CHECKPOINT
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.settings.training import TrainingSettings
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.head_rows import HEAD_WEIGHTS
from bert_cli.weights.hugging_face import write_trained_adapter


def write_run_adapter(
    settings: TrainingSettings, directory: RunDirectory, model: AnyModel, head_type: str, step: int, has_best: bool
) -> None:
    """Write the trained adapter for peft, unless peft cannot have such a head.

    Args:
        directory: output directory.
        model: the model's files.
        head_type: a key of HEAD_TYPES.
        step: step of the checkpoint to use.
        has_best: whether this is the best checkpoint.
    """
    checkpoint, config = model.checkpoint, model.config
    assert settings.rates.lora, "the caller checks it"
    assert isinstance(config, BertConfig), "check_controls refuses other models"
    if checkpoint is None:
        LOG.info("no %s: the base model has random weights", ADAPTER_CONFIG)
        return
    reader = Tf1Reader(directory.best.prefix(step) if has_best else directory.file(f"{CHECKPOINT}{step}"))
    if any(reader.shapes[name][1] != config.hidden_size for name in reader.shapes if name == HEAD_WEIGHTS):
        LOG.info("no %s: the head reads several layers, which Hugging Face's class cannot", ADAPTER_CONFIG)
        return
    base = files.make_absolute(checkpoint.location)
    write_trained_adapter(directory.path, reader, base, settings.rates.lora, head_type, config.model_type)
    LOG.info("wrote %s and %s for peft, with the base model %s", ADAPTER_CONFIG, ADAPTER_WEIGHTS, base)
