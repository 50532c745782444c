"""Assignment of a trained head's rows to a new run's labels, by label names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from bert_cli.base.formats import list_names
from bert_cli.examples.labels.look_alikes import look_alike_key
from bert_cli.model.config_files import generic_labels
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.trained import command_of
from bert_cli.problem_types.kinds import CLASSIFICATION, TAGGING
from bert_cli.run_directory.manifest import manifest_of

_CLASSIFY, _TAG = CLASSIFICATION.command, TAGGING.command


class RunLabels(NamedTuple):
    """A new run's labels, in output order.

    Attributes:
        command: the run's command.
        names: label names; () if outputs have no names, as in regression and multiple choice.
        are_from_flag: whether the user gives them with --labels.
        aliases: by label, names that other programs use for the same output, best first.
        head_bias: a new head's first bias, see OutputDecoder.initial_bias.
    """

    command: str
    names: tuple[str, ...] = ()
    are_from_flag: bool = False
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
    head_bias: float | None = None


class TrainedHead(NamedTuple):
    """Outputs of a checkpoint's classifier.

    Attributes:
        num_outputs: output count.
        stored_names: label names in the model's files, or ().
        command: the command that trained it or that fits it; None if unknown.
    """

    num_outputs: int
    stored_names: tuple[str, ...] = ()
    command: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the stored names if there is one per output, otherwise ()."""
        return self.stored_names if len(self.stored_names) == self.num_outputs else ()

    def describe(self) -> str:
        """Return the beginning of a log line."""
        if self.names:
            return f"the head has the labels {list_names(self.names)}"
        outputs = f"the head has {self.num_outputs} output{'s' if self.num_outputs != 1 else ''}"
        if self.stored_names:
            return f"{outputs}, not the {len(self.stored_names)} labels in its files"
        return f"{outputs} without label names"


class HeadRowSources(NamedTuple):
    """The trained head's row from which each output starts.

    Attributes:
        sources: by output, a row's index; None for random values.
        message: line for the log, or "".
    """

    sources: tuple[int | None, ...]
    message: str = ""


def read_trained_head(model: AnyModel, num_outputs: int) -> TrainedHead:
    """Return the model's classifier outputs as its files describe them.

    Args:
        model: the model's files.
        num_outputs: row count in the checkpoint.

    Raises:
        InputError: if a file is damaged, or labels.txt differs from the labels in run.json.
    """
    checkpoint, head = model.required_checkpoint, model.head
    problem_type = head.named_problem_type
    # A run's manifest has the labels, too, so a lost labels.txt does not matter.
    names = head.labels or tuple(manifest_of(checkpoint).get("labels") or ())
    if problem_type:
        names = problem_type.reader.keep_names(names) or ()
    return TrainedHead(num_outputs, names, command_of(checkpoint))


def match_names(
    trained: Sequence[str], names: Sequence[str], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> tuple[int | None, ...]:
    """Return for each name its index in `trained`, or None.

    Equal names come first, then names that look the same, such as POSITIVE and positive, then
    aliases. Ambiguous names are not matched.

    Args:
        trained: a trained model's label names.
        names: a new run's label names.
        aliases: see RunLabels.
    """
    indices = _unique_indices(trained)
    sources = {name: indices[name] for name in names if name in indices}
    rest = [name for name in names if name not in sources]
    used = set(sources.values())
    by_key = _unique_indices(["" if index in used else look_alike_key(name) for index, name in enumerate(trained)])
    for key, position in _unique_indices([look_alike_key(name) for name in rest]).items():
        if key and key in by_key:
            sources[rest[position]] = by_key[key]
    # Several labels may use one row: a model without B- and I- has one per type.
    all_keys = _unique_indices([look_alike_key(name) for name in trained])
    for name in rest:
        rows = [row for alias in aliases.get(name, ()) if (row := all_keys.get(look_alike_key(alias))) is not None]
        if rows:
            sources.setdefault(name, rows[0])
    return tuple(sources.get(name) for name in names)


def _unique_indices(names: Sequence[str]) -> dict[str, int]:
    """Return name -> index for names that occur once."""
    counts = Counter(names)
    return {name: index for index, name in enumerate(names) if counts[name] == 1}


def match_head(trained: TrainedHead, labels: RunLabels, num_outputs: int) -> HeadRowSources:
    """Return the trained head's rows for a run's outputs.

    Rows follow label names. If names have no meaning (LABEL_0 or 0), or if --labels renames all of
    them, rows follow positions. Rows of other labels are not used.

    Args:
        num_outputs: the run's output count.
    """
    random = (None,) * num_outputs
    if trained.command in (_CLASSIFY, _TAG) and trained.command != labels.command:
        return HeadRowSources(random, f"{trained.describe()} and belongs to {trained.command}; {_random_start(labels)}")
    if trained.names and labels.names:
        sources = match_names(trained.names, labels.names, labels.aliases)
        if sources != random:
            return HeadRowSources(sources, _describe_match(trained, labels, sources))
    if trained.num_outputs != num_outputs:
        return HeadRowSources(random, f"{trained.describe()}; {_random_start(labels)}")
    in_order = tuple(range(num_outputs))
    if not labels.names or (not trained.names and _are_generic(labels.names)):
        return HeadRowSources(in_order)
    is_tagger = labels.command == _TAG
    renames = labels.are_from_flag and not is_tagger
    if renames or not trained.names or _are_generic(trained.names) or _are_generic(labels.names):
        advice = "a labels.txt next to the checkpoint names them" if is_tagger else "--labels gives another order"
        advice = "as --labels orders them" if renames else advice
        return HeadRowSources(
            in_order, f"{trained.describe()}; its rows are used in this order for {list_names(labels.names)}; {advice}"
        )
    advice = "" if is_tagger else "; if they are new names for the same labels, give --labels in the order of its rows"
    return HeadRowSources(random, f"{trained.describe()}; {_random_start(labels)}{advice}")


def _are_generic(names: tuple[str, ...]) -> bool:
    """Return whether names only number the outputs, such as LABEL_0 or 0."""
    return names in (generic_labels(len(names)), tuple(map(str, range(len(names)))))


def _random_start(labels: RunLabels) -> str:
    run = (
        f"this run has the labels {list_names(labels.names)}"
        if labels.names
        else "this run's outputs have no label names"
    )
    return f"{run}, so its head starts from random values"


def describe_renamed(trained: Sequence[str], names: Sequence[str], sources: Sequence[int | None]) -> str:
    """Return a message about different names that were matched, or "".

    Args:
        trained, names: see match_names.
        sources: indices from match_names.
    """
    renamed = [
        f"{trained[source]} is {name}"
        for name, source in zip(names, sources, strict=True)
        if source is not None and trained[source] != name
    ]
    return f"taken for the same label: {list_names(renamed)}" if renamed else ""


def _describe_match(trained: TrainedHead, labels: RunLabels, sources: tuple[int | None, ...]) -> str:
    """Return the log line for rows that follow label names; "" if names and order are equal."""
    if trained.names == labels.names:
        return ""
    notes = []
    renamed = describe_renamed(trained.names, labels.names, sources)
    notes += [renamed] if renamed else []
    new = [name for name, source in zip(labels.names, sources, strict=True) if source is None]
    notes += [f"new, with random values: {list_names(new)}"] if new else []
    used = set(sources)
    unused = [name for index, name in enumerate(trained.names) if index not in used]
    advice = "" if labels.command == _TAG else " (--labels with them keeps them)"
    notes += [f"not kept, because this run lacks them{advice}: {list_names(unused)}"] if unused else []
    order = f"its rows are used by name for {list_names(labels.names)}"
    return "; ".join([trained.describe(), order, *notes])
