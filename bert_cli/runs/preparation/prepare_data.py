"""The work of bert-prepare: a user's file -> train.tsv, dev.tsv and test.tsv in Google's four
columns, in two passes.

The first pass counts the rows of each label; the second gives each row, as it comes, its file, so
that for each label exactly as many rows land in each as were planned. Memory grows with the number
of labels, not with the number of rows.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text
from bert_cli.base.writing import atomic_paths, write_json
from bert_cli.examples.labels.label_names import natural_key, refuse_texts, warn_about_few_rows
from bert_cli.examples.labels.lists import split_label_names
from bert_cli.examples.labels.look_alikes import warn_about_look_alikes
from bert_cli.examples.labels.unlabeled import find_missing_names, warn_about_markers
from bert_cli.examples.splitting import warn_about_absent_labels, warn_about_size
from bert_cli.examples.table_files.probe import TableFile, open_table
from bert_cli.examples.user_columns import SAMPLE, ColumnIndices, find_columns, warn_about_repeated_headers
from bert_cli.problem_types.columns import Cell
from bert_cli.settings.data import PLAIN, Columns, HeldOut, TextForm
from bert_cli.settings.preparation import RowSelection

LISTING = "prepared.json"  # which files of a folder are bert-prepare's, with their digests
SPLITS = ("train", "dev", "test")
NO_LABEL = "no label"  # why a row is left out
_HEADERS = {"train": "", "dev": "", "test": "id\ttext\n"}  # as Google's script expects them of cola
_ONE_CELL = str.maketrans("\t\n\r", "   ")
_MANY_LABELS = 1000
_ADVICE = "check --label_column"


@dataclasses.dataclass(frozen=True)
class Source:
    """A file to read, and the columns of the parts of an example."""

    table: TableFile
    indices: ColumnIndices

    @property
    def path(self) -> str:
        """The file's name."""
        return self.table.path

    @staticmethod
    def open(path: str, columns: Columns, header: str, form: TextForm = PLAIN) -> "Source":
        """Open the source of a file.

        Raise InputError for a file that the four columns cannot hold: of pairs, or of several
        labels per row.

        Args:
            path: the file.
            columns, header: see `find_columns`.
            form: encoding, quoting and sheet, as the flags have them.
        """
        table = open_table(path, "", form)
        sample = list(itertools.islice(table.filled_rows(warns=False), SAMPLE))
        refuse_if(not sample, f"{path}: is empty; rows of a text and a label are needed")
        indices = find_columns(table, sample, columns, header, needs_label=True)
        refuse_if(
            indices.text_b is not None,
            f"{path}: holds pairs of texts, and the four-column format has one; give the file to "
            "bert-classify as it is, or --text_column for one of the two",
        )
        refuse_if(
            len(indices.labels) > 1,
            "--label_column: the four-column format has one label; give the file to bert-classify as it is",
        )
        return Source(table, indices)

    def rows(self, warns: bool = False) -> Iterator[tuple[str, str, str, str]]:
        """Yield (reason to leave it out or "", id, label, text) of each row, the text on one line.

        Args:
            warns: whether to log what is unusual in the file; False if it is read again.

        Raises:
            InputError: a row has several labels.
        """
        indices = self.indices
        rows = self.table.filled_rows(warns)
        headers: list[int] = []
        number = -1
        for row in itertools.islice(rows, int(indices.names is not None), None):
            if indices.is_repeated_header(row):
                headers.append(row.line)
                continue
            number += 1
            if len(row.cells) != indices.width:
                yield "another number of columns", "", "", ""
                continue
            cells = [_on_one_line(cell if isinstance(cell, str) else ",".join(cell)) for cell in row.cells]
            identifier = "" if indices.identifier is None else cells[indices.identifier]
            label = _on_one_line(self._label(row.line, row.cells[indices.labels[0]]))
            text = cells[indices.text_a]
            yield "no text" if not text else NO_LABEL if not label else "", identifier or str(number), label, text
        if warns:
            warn_about_repeated_headers(self.path, headers)

    def _label(self, line: int, cell: Cell) -> str:
        """Return the label in a cell, also of a list with one label."""
        names = (cell if isinstance(cell, tuple) else split_label_names(cell.strip())) or ("",)
        refuse_if(
            len(names) > 1,
            f"{self.path}:{line}: the label is a list of {len(names)}, and the four-column format "
            "has one label per text; give the file to bert-classify as it is",
        )
        return names[0]


def _on_one_line(cell: str) -> str:
    return cell.replace("\r\n", "\n").translate(_ONE_CELL).strip()


def count_labels(source: Source, skip_unlabeled: bool = False) -> tuple[dict[str, int], Counter[str]]:
    """Return the rows per label, in natural order, and the rows that are left out, per reason.

    Args:
        source: file to read.
        skip_unlabeled: whether rows with a label that marks a missing one are left out.
    """
    counts: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for reason, _, label, _ in source.rows(warns=True):
        if reason:
            dropped[reason] += 1
            continue
        counts[label] += 1
        # Once before the end, as the texts of a large file in the place of labels would fill the memory.
        if counts[label] == 1 and len(counts) == _MANY_LABELS:
            refuse_texts(f"{source.path}: the label column", counts, counts.total(), _ADVICE)
    if skip_unlabeled:
        for name in find_missing_names(counts, has_empty=bool(dropped[NO_LABEL])):
            dropped[NO_LABEL] += counts.pop(name)
    if not counts:
        raise InputError(f"{source.path}: holds no row with a text and a label; check --text_column and --label_column")
    refuse_texts(f"{source.path}: the label column", counts, counts.total(), _ADVICE)
    warn_about_few_rows(source.path, len(counts), counts.total())
    ordered = {label: counts[label] for label in sorted(counts, key=natural_key)}
    warn_about_markers(source.path, ordered, skip_unlabeled)
    warn_about_look_alikes(source.path, ordered)
    return ordered, dropped


def plan(counts: dict[str, int], selection: RowSelection) -> dict[str, dict[str, int]]:
    """Rows of each label for train, dev and test. InputError where a file that is wanted would be
    empty.
    """
    kept = _kept(counts, selection)
    total = sum(kept.values())
    held_out = selection.dev_split.count + selection.test_split.count
    refuse_if(
        held_out >= total,
        f"--dev_split={selection.dev_split} --test_split={selection.test_split}: {total} rows "
        "leave none to train on; give smaller counts",
    )
    wanted_dev, wanted_test = (_rows_of(kept, split) for split in (selection.dev_split, selection.test_split))
    planned = {}
    for label, rows in kept.items():
        test = min(wanted_test[label], max(rows - 1, 0))
        dev = min(wanted_dev[label], max(rows - test - 1, 0))
        planned[label] = {"train": rows - dev - test, "dev": dev, "test": test}
    for split, share in (("dev", selection.dev_split), ("test", selection.test_split)):
        is_empty = not any(each[split] for each in planned.values())
        refuse_if(
            share and is_empty, f"--{split}_split={share}: leaves no row for {split}.tsv; give a larger fraction, or 0"
        )
        if share:
            of_split = {label: numbers[split] for label, numbers in planned.items()}
            asked = share.count or round(share.share * total)
            warn_about_size(f"--{split}_split={share}", f"{split}.tsv", asked, sum(of_split.values()))
            absent = [label for label, count in of_split.items() if not count]
            warn_about_absent_labels(f"--{split}_split={share}", f"{split}.tsv", absent, len(of_split))
    return planned


def _kept(counts: dict[str, int], selection: RowSelection) -> dict[str, int]:
    """How many rows of each label stay, --max_rows in all at most."""
    total = sum(counts.values())
    most = selection.max_rows
    if selection.balance:
        least = min(*counts.values(), total if most is None else most // len(counts))
        refuse_if(not least, f"--max_rows={most}: {len(counts)} labels need a row each at least")
        return dict.fromkeys(counts, least)
    if most is None or most >= total:
        return counts
    return _in_proportion(counts, most)


def _rows_of(counts: dict[str, int], split: HeldOut) -> dict[str, int]:
    """How many rows of each label a file gets, before each label keeps a row for training."""
    if split.count:
        return _in_proportion(counts, split.count)
    return {label: round(rows * split.share) for label, rows in counts.items()}


def _in_proportion(counts: dict[str, int], most: int) -> dict[str, int]:
    """`most` rows, of each label in proportion to its count."""
    total = sum(counts.values())
    exact = {label: count * most / total for label, count in counts.items()}
    kept = {label: int(share) for label, share in exact.items()}
    # Largest remainders first, so that the parts add up to `most`.
    for label in sorted(exact, key=lambda label: kept[label] - exact[label])[: most - sum(kept.values())]:
        kept[label] += 1
    return kept


def check_folder(folder: str, source: str) -> set[str]:
    """Names of the files there that an earlier run wrote and nobody has changed; they may be
    replaced.

    InputError where another file has one of our names.
    """
    listing = os.path.join(folder, LISTING)
    listed: dict[str, Any] = {}
    if files.exists(listing):
        values = parse_json(read_text(listing), listing)
        listed = values.get("files", {}) if isinstance(values, dict) else {}
        if not isinstance(listed, dict) or not listed:
            raise InputError(f"{listing}: was not written by bert-prepare; give another folder")
    ours = set()
    for name in (f"{split}.tsv" for split in SPLITS):
        path = os.path.join(folder, name)
        if not files.exists(path):
            continue
        is_source = os.path.realpath(path) == os.path.realpath(source)
        refuse_if(is_source, f"{path}: would be written over, but it is read; give another folder")
        if files.is_directory(path) or listed.get(name) != _digest(path):
            raise InputError(
                f"{path}: is there, and is not as bert-prepare left it; move it away, or give another folder"
            )
        ours.add(name)
    return ours


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_splits(
    source: Source, counts: dict[str, int], planned: dict[str, dict[str, int]], folder: str, seed: int, ours: set[str]
) -> list[str]:
    """Write the files that have rows, and their listing, all or none; files of `ours` that are no
    longer written are removed.

    Returns the names of the tables.
    """
    wanted = [split for split in SPLITS if any(each[split] for each in planned.values())]
    names = [f"{split}.tsv" for split in wanted]
    left = dict(counts)
    needed = {label: dict(each) for label, each in planned.items()}
    rng = random.Random(seed)
    with atomic_paths([os.path.join(folder, name) for name in (*names, LISTING)]) as (*paths, listing):
        with contextlib.ExitStack() as stack:
            opened: dict[str, IO[str]] = {}
            for split, path in zip(wanted, paths, strict=True):
                opened[split] = stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
                opened[split].write(_HEADERS[split])
            for _, identifier, label, text in (row for row in source.rows() if not row[0] and row[2] in counts):
                # Knuth's selection sampling for each label: a row goes to a file with probability
                # (rows that the file still needs) / (rows of this label that are still to come), so
                # each file gets exactly what was planned.
                draw = rng.random() * left[label]
                left[label] -= 1
                for split in SPLITS:
                    draw -= needed[label][split]
                    if draw < 0:
                        needed[label][split] -= 1
                        cells = [identifier, text] if split == "test" else [identifier, label, "", text]
                        opened[split].write("\t".join(cells) + "\n")
                        break
        digests = {name: _digest(path) for name, path in zip(names, paths, strict=True)}
        write_json(listing, {"source": os.path.abspath(source.path), "files": digests})
    for name in ours - set(names):
        files.remove(os.path.join(folder, name))
    return names
