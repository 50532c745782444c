"""Split a table into train.tsv, dev.tsv and test.tsv for bert-classify --task_name=cola.

It reads .tsv, .csv and .jsonl files, also as .gz, row by row, and .json, .xlsx, .xls, .ods, .parquet and .feather
files at once. It writes train.tsv and dev.tsv (id, label, an empty column, text) and test.tsv (id, text, with a
header). Tabs and line ends in a text become spaces, labels stay unchanged, and the split is stratified by label. It
ends with a table:

    rows read    64
    train.tsv    42    a 28, b 14
    dev.tsv       6    a 4, b 2
    test.tsv     12    a 8, b 4
    left out      2    no text
    left out      1    no label
    left out      1    another number of columns

Without --text_column and --label_column the columns are detected and logged. bert-classify also reads such files
directly: see its --train_file.

Examples:

    bert-prepare data/train.tsv bert_output/tables --header=no --id_column=0 \\
      --text_column=3 --label_column=1 --test_split=0.1
    bert-prepare data/train.tsv bert_output/few --header=no --max_rows=1000 \\
      --text_column=3 --label_column=1 --balance
"""

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.flags.command import Command
from bert_cli.outputs.preparation import preparation_table
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.runs.preparation.labeled_file import LabeledFile
from bert_cli.runs.preparation.prepare_data import (
    assign_file_groups,
    check_folder,
    count_labels,
    plan_split_sizes,
    write_splits,
)
from bert_cli.settings.data import TextForm
from bert_cli.settings.preparation import PrepareSettings

_MOST_SHARE = 0.95  # of the rows that are held out


def check(settings: PrepareSettings, given_names: frozenset[str]) -> PrepareSettings:
    """Return the settings; raise InputError for missing paths or too large splits."""
    num_paths = len(settings.paths.paths)
    example = "the file to read and the folder to write to are needed; --help shows an example"
    refuse_if(num_paths != 2, f"{num_paths} paths: {example}")
    shares = settings.selection.dev_split.share + settings.selection.test_split.share
    refuse_if(
        shares > _MOST_SHARE,
        f"--dev_split and --test_split: {shares:g} of the rows together leaves too few to train on",
    )
    return settings


def run(settings: PrepareSettings) -> dict:
    """Write the files, and return the figures that the table shows."""
    path, folder = settings.paths.paths
    if any(map(files.is_remote, (path, folder))):
        raise InputError(f"{path}, {folder}: local files are needed; copy them here first")
    if not files.exists(path):
        raise InputError(f"{path}: no such file")
    files.check_can_write(folder, "")
    form = TextForm(settings.text_files.encoding, settings.data.quoting, settings.data.sheet)
    rules = ColumnRules(settings.columns, settings.data.header, rows=settings.rows)
    source = LabeledFile.open(path, rules, form)
    existing_names = check_folder(folder, path)
    counts, dropped = count_labels(source, settings.missing_labels.skip_unlabeled)
    groups = None
    if settings.rows.group_column is not None:
        groups = assign_file_groups(source, counts, settings.selection, settings.seed.random_seed)
    split_counts = plan_split_sizes(counts, settings.selection, groups)
    num_rows = sum(counts.values()) + sum(dropped.values())
    num_beyond = sum(counts.values()) - sum(sum(label_counts.values()) for label_counts in split_counts.values())
    if num_beyond:
        reason = "of a label with more rows" if settings.selection.balance else f"beyond {settings.selection.max_rows}"
        dropped[reason] = num_beyond
    # Make the directory only now: a file that cannot be read must not leave an empty one.
    files.make_directory(folder)
    names = write_splits(source, counts, split_counts, folder, settings.seed.random_seed, existing_names, groups)
    report = {"rows": num_rows, "labels": split_counts, "dropped": dict(dropped)}
    for line in preparation_table(report):
        LOG.info(line)
    LOG.info("wrote %s into %s; next: bert-classify --task_name=cola --data_dir=%s …", ", ".join(names), folder, folder)
    return report


main = Command("bert-prepare", __doc__, PrepareSettings, run, check, interrupted="nothing was written")


if __name__ == "__main__":
    raise SystemExit(main())
