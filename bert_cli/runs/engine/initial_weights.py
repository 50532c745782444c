"""The weights that a run starts from."""

from bert_cli.base.log import LOG
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.checkpoints import builtin_message, random_start_message
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.hub_encoder import ModuleEncoder


def load_initial(engine: TensorFlowEngine, model: ModelBundle, init_checkpoint: str, state: str | None) -> None:
    """Load the weights that a run starts from, and log their source.

    Args:
        engine: the model on its devices.
        model: the model's files.
        init_checkpoint: flag value.
        state: checkpoint prefix to resume from; None for a new run.
    """
    checkpoint = model.checkpoint
    encoder = engine.model.encoder
    if state:
        LOG.info("resuming from %s", state)
        # The checkpoint holds all variables.
        engine.initialize_except(engine.variables.values())
    elif checkpoint and isinstance(encoder, ModuleEncoder):
        count = len(encoder.named_variables())
        LOG.info("%s: not a Google BERT checkpoint; its %d variables are used unchanged", checkpoint.name, count)
        engine.initialize_except([])
    elif checkpoint:
        report = engine.load_weights(open_checkpoint(checkpoint))
        message = builtin_message(checkpoint, encoder.config)
        for line in [message] if message else report.lines():
            LOG.info(line)
    else:
        LOG.log(*random_start_message(init_checkpoint, model.is_builtin))
