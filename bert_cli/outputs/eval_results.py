"""eval_results.txt from all commands that evaluate, and the same lines for the log."""

from collections.abc import Mapping

from bert_cli.base.writing import atomic_write


def write_eval_results(path: str, results: Mapping[str, object]) -> None:
    """Write eval_results.txt as the original does: one `key = value` per line, sorted by key."""
    with atomic_write(path) as file:
        file.writelines(f"{key} = {results[key]!s}\n" for key in sorted(results))


def format_eval_results(results: Mapping[str, object]) -> list[str]:
    """Return the original's log lines."""
    return ["***** Eval results *****", *(f"  {key} = {results[key]!s}" for key in sorted(results))]
