"""Settings of an imaginary command with a flag for every type."""

import dataclasses

from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.flags.paths import name_list_properties


class Data(FlagGroup, heading="Data"):
    input_file: str = option("", "the text to read")
    tpu_name: str | None = option(None, "name of the TPU", may_be_empty=True)
    labels: tuple[str, ...] | None = option(None, "names of the columns", **name_list_properties("labels", 2))


class Training(FlagGroup, heading="Training"):
    rate: float = option(0.5, "a share", lower=0.0, upper=1.0)
    steps: int = option(10, "how many", lower=1)
    gelu: str = option("auto", "form of gelu", choices=("auto", "erf"))
    fast: bool = option(True, "hurry")
    do_lower_case: bool | None = option(None, "lower-case; default: as the model was trained")


class MoreData(FlagGroup, heading="Data"):
    random_seed: int = option(3, "seed")


@dataclasses.dataclass(frozen=True)
class Settings:
    data: Data = group(Data)
    training: Training = group(Training, {"steps": "how many updates"}, steps=20)
    more: MoreData = group(MoreData)
