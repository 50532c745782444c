"""What bert-prepare says of its work: a table of the rows of each label and file, and of those that were left out."""

from collections.abc import Mapping

from bert_cli.outputs.text_table import text_table


def format_table(report: Mapping) -> list[str]:
    """rows: read from the file. labels: {label: {split: rows}}. dropped: {reason: rows}."""
    planned = report["labels"]
    rows = [("rows read", f"{report['rows']:,}", "")]
    for split in ("train", "dev", "test"):
        parts = ", ".join(f"{label} {each[split]:,}" for label, each in planned.items() if each[split])
        total = sum(each[split] for each in planned.values())
        rows += [(f"{split}.tsv", f"{total:,}", parts)] if total else []
    rows += [("left out", f"{count:,}", reason) for reason, count in report["dropped"].items()]
    return text_table(rows)
