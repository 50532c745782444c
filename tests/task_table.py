"""The table of tasks in docs/tasks.md: `python -m tests.task_table` prints it from TASKS."""

from bert_cli.examples.glue import TASKS

_METRICS = {
    "mcc": "MCC",
    "accuracy": "accuracy",
    "accuracy_f1": "accuracy, F1",
    "pearson_spearman": "Pearson, Spearman",
}


def table() -> str:
    """Return a Markdown table with one row per task, using the first layout of each split."""
    lines = ["| `--task_name=` | files | columns | labels | metric |", "|---|---|---|---|---|"]
    for name, task in TASKS.items():
        layouts = [layouts[0] for layouts in task.splits.values()]
        files = ", ".join(f"`{layout.file}`" for layout in layouts)
        columns = "; ".join(dict.fromkeys(layout.columns for layout in layouts))
        labels = ", ".join(task.labels) or "a number"
        lines.append(f"| `{name}` | {files} | {columns} | {labels} | {_METRICS[task.metric]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
