"""What --precision=int8 is for."""

from bert_cli.base.cluster import trains_together
from bert_cli.base.errors import InputError
from bert_cli.settings.groups import INT8


def check_int8(values: dict) -> None:
    """InputError where --precision=int8 does not go with the other flags."""
    if values.get("precision") != INT8:
        return
    if values.get("do_train"):
        raise InputError(
            f"--precision={INT8} is for predictions: train with another one, then predict with it in a second command"
        )
    strategy = values["distribution_strategy"]
    if strategy not in ("auto", "one_device") or values["use_tpu"] or trains_together(strategy):
        raise InputError(
            f"--precision={INT8} computes on the CPU, alone: leave --distribution_strategy, --use_tpu and TF_CONFIG out"
        )


def refuse_int8(values: dict) -> None:
    """InputError for --precision=int8 where words are predicted, of which there are as many as in the vocabulary."""
    if values["precision"] == INT8:
        raise InputError(f"--precision={INT8} is for predictions and features, not for masked words; leave it out")
