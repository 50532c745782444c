"""Checks for flags of bert-classify that contradict each other, the task, or the problem type."""

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.examples.glue import find_task
from bert_cli.flags.refusals import first_excluded
from bert_cli.problem_types.multiple_choice import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import problem_type
from bert_cli.settings.classification import ClassifySettings


def problem_type_from_flags(settings: ClassifySettings) -> ProblemType | None:
    """Return the problem type from --task_name or other flags, or None if the data decides it.

    Raise InputError if two flags imply different types.
    """
    type_name = settings.label_kind.problem_type
    task_name = settings.task.task_name
    resolved_type = find_task(task_name).problem_type if task_name else problem_type(type_name) if type_name else None
    if type_name and resolved_type and type_name != resolved_type.name:
        raise InputError(
            f"--problem_type={type_name}: --task_name={task_name} is {resolved_type.name}; leave --problem_type out"
        )
    choices = settings.choices.choice_columns
    if choices and resolved_type and not resolved_type.has_choices:
        source = f"--task_name={task_name}" if task_name else "--problem_type, as given or as the model was trained,"
        raise InputError(
            f"--choice_columns: {source} is {resolved_type.name}, not {MULTIPLE_CHOICE.name}; leave --choice_columns out"
        )
    if choices or (resolved_type and resolved_type.has_choices):
        _check_choice(settings)
        return MULTIPLE_CHOICE
    return resolved_type


def _check_choice(settings: ClassifySettings) -> None:
    """Raise InputError for flags that have no meaning for multiple choice.

    The training run or the task may have chosen it, so a rule of --choice_columns is not enough.
    """
    task = settings.task.task_name
    source = f"--task_name={task}" if task else "--choice_columns"
    refuse_if(
        task and settings.data.header == "no", f"{source} has its columns by name; --header=no does not go with it"
    )
    excluded = first_excluded(settings, "choice_columns")
    if len(settings.columns.label_columns) > 1:
        excluded = "--label_column with several columns"
    refuse_if(excluded, f"{source} has endings of a text, of which one is right; {excluded} does not go with it")
