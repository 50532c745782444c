"""What both layers take from a model's folder."""

import os
from typing import Any

from bert_cli.api import loading
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.checkpoints import ready_checkpoint
from bert_cli.runs.loading.loader import load_model
from bert_cli.settings.groups import ModelFiles


def load_bundle(
    path: str | os.PathLike | None, needs_vocab: bool, do_lower_case: bool | None = None
) -> ModelBundle[Any]:
    """The files of a BERT; of the pre-trained model in the box where path is None."""
    checkpoint = ready_checkpoint("", ModelFiles()) if path is None else loading.find(path)
    flags = ModelFiles(do_lower_case=do_lower_case)
    return load_model(flags, checkpoint, None, needs_bert=True, needs_vocab=needs_vocab)
