"""Weights of a checkpoint into the variables of a model; no TensorFlow."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.weights.checkpoint import Reader
from bert_cli.weights.names import is_of_training

_ENCODER = "bert/"


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What came of loading: names by what happened to them."""

    source: str
    loaded: list[str]
    missing: list[str]  # in the model, not in the checkpoint: they keep their random initial values
    unused: list[str]  # in the checkpoint, not in the model

    def check_whole(self, reason: str, optional: str | tuple[str, ...] = ()) -> None:
        """InputError, ending with `reason`, for a missing variable whose name does not begin with an `optional` one."""
        missing = [name for name in self.missing if not name.startswith(optional)]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise InputError(f"{self.source}: lacks {', '.join(missing[:3])}{more}: {reason}")

    def lines(self) -> list[str]:
        text = [
            f"{self.source}: {len(self.loaded)} variables loaded, {len(self.missing)} missing, {len(self.unused)} unused"
        ]
        for title, names in (("missing (start from random values)", self.missing), ("unused", self.unused)):
            if names:
                more = f" and {len(names) - 8} more" if len(names) > 8 else ""
                text.append(f"  {title}: {', '.join(names[:8])}{more}")
        return text


def load_weights(variables: dict, reader: Reader) -> LoadReport:
    """Assign the variables (Google's name -> variable) that the checkpoint has.

    Raises InputError, before anything is assigned, for a shape that differs, and where the checkpoint has none of the
    variables of a BERT encoder that is to be loaded.
    """
    loaded = [name for name in variables if name in reader.shapes]
    missing = [name for name in variables if name not in reader.shapes]
    wrong = [name for name in loaded if reader.shapes[name] != tuple(variables[name].shape)]
    if wrong:
        name = wrong[0]
        more = f" (and {len(wrong) - 1} more such variables)" if len(wrong) > 1 else ""
        raise InputError(
            f"{reader.description}: {name} has the shape {list(reader.shapes[name])}, this model needs "
            f"{list(variables[name].shape)}{more}; {_shape_advice(name)}"
        )
    wanted = [name for name in variables if name.startswith(_ENCODER)]
    if wanted and not any(name in reader.shapes for name in wanted):
        known = sorted(reader.shapes)[:3] + reader.unused[:3]
        raise InputError(
            f"{reader.description}: holds no variable of this encoder ({_ENCODER}…); it has {', '.join(known[:3])}…; is it "
            "a BERT checkpoint?"
        )
    # All is read before anything is assigned: a file that is cut short leaves the model as it was.
    values = {name: reader.read(name) for name in loaded}
    for name, value in values.items():
        variables[name].assign(value)
    unused = [name for name in reader.shapes if name not in variables and not is_of_training(name)]
    return LoadReport(reader.description, loaded, missing, sorted(unused) + reader.unused)


def _shape_advice(name: str) -> str:
    if name.startswith("bert/"):
        return "does --bert_config_file belong to this checkpoint?"
    return (
        "it was fine-tuned for another number of labels; start from the pre-trained checkpoint (or, for bert-classify, give "
        "its --labels)"
    )
