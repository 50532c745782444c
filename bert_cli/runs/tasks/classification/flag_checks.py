"""Checks for flags of bert-classify that contradict each other, the task, or the problem type."""

from bert_cli.base.errors import InputError
from bert_cli.examples.choice import AUTO
from bert_cli.examples.glue import TASKS, find_task
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
    if settings.choices.choice_labels != AUTO:
        raise InputError("--choice_labels needs --choice_columns")
    return resolved_type


def _check_choice(settings: ClassifySettings) -> None:
    """Raise InputError for flags that have no meaning for multiple choice."""
    if settings.sweep.cross_validation:
        raise InputError("--cross_validation is not available for multiple choice")
    task = settings.task.task_name
    columns = settings.columns
    for flag, is_given in (
        ("text_b_column", columns.text_b_column),
        ("label_separator", settings.label_kind.label_separator),
        ("label_column with several columns", len(columns.label_columns) > 1),
        ("labels", settings.encoding.labels),
        ("header=no", task and settings.data.header == "no"),
    ):
        if is_given:
            source = f"--task_name={task}" if task else "--choice_columns"
            fact = "has its columns by name" if flag == "header=no" else "has endings of a text, of which one is right"
            raise InputError(f"{source} {fact}; --{flag} does not go with it")


def check_submission(settings: ClassifySettings) -> None:
    """Raise InputError for --glue_submission if there is no leaderboard for the predicted file."""
    if not settings.inference.glue_submission:
        return
    name = settings.task.task_name
    if settings.data.predict_file or not (name and find_task(name).submission):
        tasks = ", ".join(task_name for task_name, task in TASKS.items() if task.submission)
        raise InputError(f"--glue_submission: is about the test file of a task of GLUE: {tasks}")
