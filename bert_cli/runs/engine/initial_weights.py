"""The weights that a run starts from."""

from bert_cli.base.log import LOG
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checkpoints import builtin_message, random_start_message
from bert_cli.opening.head_labels import RunLabels, match_head, read_trained_head
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.head_rows import HEAD_BIAS, HEAD_VARIABLES, HEAD_WEIGHTS, HeadRowsReader
from bert_cli.weights.hub_encoder import ModuleEncoder
from bert_cli.weights.variables import Reader


def load_initial(
    engine: TensorFlowEngine, model: AnyModel, init_checkpoint: str, state: str | None, labels: RunLabels
) -> None:
    """Load the weights that a run starts from, and log their source.

    Args:
        engine: the model on its devices.
        model: the model's files.
        state: checkpoint prefix to resume from; None for a new run.
        labels: the run's labels, which rows of a trained head follow, with the bias of a new head.
    """
    checkpoint = model.checkpoint
    encoder = engine.model.encoder
    has_new_head = not state
    if state:
        LOG.info("resuming from %s", state)
        # The checkpoint holds all variables.
        engine.deferred.initialize_except(engine.variables.values())
    elif checkpoint and isinstance(encoder, ModuleEncoder):
        count = len(encoder.named_variables())
        LOG.info("%s: not a Google BERT checkpoint; its %d variables are used unchanged", checkpoint.name, count)
        engine.deferred.initialize_except([])
    elif checkpoint:
        report = engine.load_weights(_with_head_rows(engine, model, open_checkpoint(checkpoint), labels))
        report.check_known(checkpoint.is_strict)
        has_new_head = HEAD_BIAS in report.missing
        if message := builtin_message(checkpoint, encoder.config):
            LOG.info(message)
        else:
            for line in report.lines():
                LOG.info(line)
    else:
        LOG.log(*random_start_message(init_checkpoint, model.is_builtin))
    if labels.head_bias is not None and has_new_head:
        # Otherwise the encoder's output first learns the mean, and all of its features move
        # together: on STS-B, a correlation of 0.19 instead of 0.28, mean of three seeds.
        engine.variables[HEAD_BIAS].assign([labels.head_bias])


def _with_head_rows(engine: TensorFlowEngine, model: AnyModel, reader: Reader, labels: RunLabels) -> Reader:
    """Return a reader with one head row per output, and log the choice of rows."""
    if HEAD_WEIGHTS not in reader.shapes or HEAD_WEIGHTS not in engine.variables:
        return reader
    num_rows, num_outputs = reader.shapes[HEAD_WEIGHTS][0], engine.variables[HEAD_WEIGHTS].shape[0]
    rows = match_head(read_trained_head(model, num_rows), labels, num_outputs)
    if rows.message:
        LOG.info("%s: %s", reader.description, rows.message)
    if rows.sources == tuple(range(num_rows)):
        return reader
    return HeadRowsReader(reader, rows.sources, engine.random_values(HEAD_VARIABLES))
