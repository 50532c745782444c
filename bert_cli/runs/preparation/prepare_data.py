"""Conversion from a user's file to train.tsv, dev.tsv and test.tsv with Google's four columns.

The first pass counts the rows per label. The second pass assigns each row to a file at random, so
that each file gets exactly the planned number of rows per label. Memory use depends on the number
of labels, not on the number of rows.
"""

import contextlib
import hashlib
import os
import random
from collections import Counter
from typing import IO, Any, NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import parse_json
from bert_cli.base.lines import read_text
from bert_cli.base.writing import atomic_paths, write_json
from bert_cli.examples.grouping import (
    STAY_TOGETHER,
    GroupCount,
    GroupCounts,
    split_groups,
)
from bert_cli.examples.labels.label_names import natural_key, refuse_texts, warn_about_few_rows
from bert_cli.examples.labels.look_alikes import warn_about_look_alikes
from bert_cli.examples.labels.unlabeled import find_missing_names, warn_about_markers
from bert_cli.examples.splitting import RARE_LABELS, warn_about_absent_labels, warn_about_size
from bert_cli.runs.preparation.labeled_file import NO_LABEL, LabeledFile
from bert_cli.settings.data import HeldOut
from bert_cli.settings.preparation import RowSelection

# A file that lists the files from bert-prepare in its directory, with their hashes.
LISTING = "prepared.json"
SPLITS = ("train", "dev", "test")
# Google's script expects these headers for the task cola.
_HEADERS = {"train": "", "dev": "", "test": "id\ttext\n"}
_MANY_LABELS = 1000
_ADVICE = "check --label_column"


def count_labels(source: LabeledFile, skip_unlabeled: bool = False) -> tuple[dict[str, int], Counter[str]]:
    """Return the rows per label, in natural order, and the rows that are left out, per reason.

    Args:
        source: file to read.
        skip_unlabeled: whether rows with a label that marks a missing one are left out.
    """
    counts: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for row in source.rows(warns=True):
        label = row.label
        if row.reason:
            dropped[row.reason] += 1
            continue
        counts[label] += 1
        # Check early, too: the texts in a wrong label column of a large file would fill the memory.
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


class FileGroups(NamedTuple):
    """Split per group, and rows per label by split."""

    split_of: dict[str, str]
    counts: dict[str, Counter[str]]


def assign_file_groups(source: LabeledFile, counts: dict[str, int], selection: RowSelection, seed: int) -> FileGroups:
    """Return a file's groups; log how many each split gets.

    Args:
        source: file to read.
        counts: rows per label; other labels are left out.
        selection: the splits.
        seed: seed used to shuffle the groups.

    Raises:
        InputError: a split would have no group.
    """
    groups: GroupCounts = {}
    for row in source.rows():
        if not row.reason and row.label in counts:
            groups.setdefault(str(row.group), GroupCount()).add([row.label])
    total = sum(counts.values())
    held_out = {"dev": selection.dev_split, "test": selection.test_split}
    shares = {split: part.count / total if part.count else part.share for split, part in held_out.items() if part}
    refuse_if(sum(shares.values()) >= 1, _leaves_none(selection, total))
    flag = " ".join(f"--{split}_split={part}" for split, part in held_out.items() if part)
    names = ["train", *shares]
    shares = {"train": 1 - sum(shares.values()), **shares}
    file_shares = {f"{name}.tsv": share for name, share in shares.items()}
    subsets = split_groups(flag, groups, file_shares, seed, keeps_labels=True)
    split_counts: dict[str, Counter[str]] = {split: Counter() for split in SPLITS}
    for group, subset in subsets.items():
        split_counts[names[subset]].update(groups[group].strata)
    return FileGroups({group: names[subset] for group, subset in subsets.items()}, split_counts)


def _leaves_none(selection: RowSelection, total: int) -> str:
    splits = f"--dev_split={selection.dev_split} --test_split={selection.test_split}"
    return f"{splits}: {total} rows leave none to train on; give smaller counts"


def plan_split_sizes(
    counts: dict[str, int], selection: RowSelection, groups: FileGroups | None = None
) -> dict[str, dict[str, int]]:
    """Return how many rows each split gets, by label and split.

    Args:
        counts: rows per label.
        selection: the rows to use, and the splits.
        groups: the file's groups, None if each row is assigned alone.

    Raises:
        InputError: a split that `selection` requests would be empty.
    """
    selected = _selected_counts(counts, selection)
    total = sum(selected.values())
    num_held_out = selection.dev_split.count + selection.test_split.count
    refuse_if(num_held_out >= total, _leaves_none(selection, total))
    dev_counts, test_counts = (_split_counts(selected, split) for split in (selection.dev_split, selection.test_split))
    planned = {}
    for label, rows in selected.items():
        if groups:
            planned[label] = _distribute({split: groups.counts[split][label] for split in SPLITS}, rows)
            continue
        test = min(test_counts[label], max(rows - 1, 0))
        dev = min(dev_counts[label], max(rows - test - 1, 0))
        planned[label] = {"train": rows - dev - test, "dev": dev, "test": test}
    for split, held_out in (("dev", selection.dev_split), ("test", selection.test_split)):
        is_empty = not any(split_counts[split] for split_counts in planned.values())
        refuse_if(
            held_out and is_empty,
            f"--{split}_split={held_out}: leaves no row for {split}.tsv; give a larger fraction, or 0",
        )
        if held_out:
            counts_in_split = {label: numbers[split] for label, numbers in planned.items()}
            requested = held_out.count or round(held_out.share * total)
            size = sum(counts_in_split.values())
            reason = STAY_TOGETHER if groups else RARE_LABELS
            warn_about_size(f"--{split}_split={held_out}", f"{split}.tsv", requested, size, reason)
            absent = [label for label, count in counts_in_split.items() if not count]
            warn_about_absent_labels(f"--{split}_split={held_out}", f"{split}.tsv", absent, len(counts_in_split))
    return planned


def _selected_counts(counts: dict[str, int], selection: RowSelection) -> dict[str, int]:
    """Return how many rows per label to use, considering --max_rows and --balance."""
    total = sum(counts.values())
    max_rows = selection.max_rows
    if selection.balance:
        rows_per_label = min(*counts.values(), total if max_rows is None else max_rows // len(counts))
        refuse_if(not rows_per_label, f"--max_rows={max_rows}: {len(counts)} labels need a row each at least")
        return dict.fromkeys(counts, rows_per_label)
    if max_rows is None or max_rows >= total:
        return counts
    return _distribute(counts, max_rows)


def _split_counts(counts: dict[str, int], split: HeldOut) -> dict[str, int]:
    """Return a split's rows per label, before each label keeps a row for training."""
    if split.count:
        return _distribute(counts, split.count)
    return {label: round(rows * split.share) for label, rows in counts.items()}


def _distribute(counts: dict[str, int], num_rows: int) -> dict[str, int]:
    """Return rows per label that sum to `num_rows`, in proportion to the counts."""
    total = sum(counts.values())
    exact = {label: count * num_rows / total for label, count in counts.items()}
    rounded = {label: int(share) for label, share in exact.items()}
    # Round up the largest remainders, so that the sum is exact.
    for label in sorted(exact, key=lambda label: rounded[label] - exact[label])[: num_rows - sum(rounded.values())]:
        rounded[label] += 1
    return rounded


def check_folder(output_dir: str, source: str) -> set[str]:
    """Return the names of unchanged files from an earlier run, which may be replaced.

    Raise InputError if an output would replace another file, or `source`.
    """
    listing = os.path.join(output_dir, LISTING)
    listed: dict[str, Any] = {}
    if files.exists(listing):
        values = parse_json(read_text(listing), listing)
        listed = values.get("files", {}) if isinstance(values, dict) else {}
        if not isinstance(listed, dict) or not listed:
            raise InputError(f"{listing}: was not written by bert-prepare; give another folder")
    own_files = set()
    for name in (f"{split}.tsv" for split in SPLITS):
        path = os.path.join(output_dir, name)
        if not files.exists(path):
            continue
        is_source = os.path.realpath(path) == os.path.realpath(source)
        refuse_if(is_source, f"{path}: would be written over, but it is read; give another folder")
        if files.is_directory(path) or listed.get(name) != _digest(path):
            raise InputError(
                f"{path}: is there, and is not as bert-prepare left it; move it away, or give another folder"
            )
        own_files.add(name)
    return own_files


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_splits(
    source: LabeledFile,
    counts: dict[str, int],
    planned: dict[str, dict[str, int]],
    output_dir: str,
    seed: int,
    old_names: set[str],
    groups: FileGroups | None = None,
) -> list[str]:
    """Write the tables with rows and their listing, all or none, and return the table names.

    `counts` are the rows per label in `source`, and `planned` comes from `plan`. The random `seed`
    assigns rows to files. Files in `output_dir` from an earlier run, `old_names`, are replaced or removed.
    Rows in `groups` go to their group's split.
    """
    splits = [split for split in SPLITS if any(rows_per_split[split] for rows_per_split in planned.values())]
    names = [f"{split}.tsv" for split in splits]
    # Rows that compete for the same places: those with a label, with groups also of the same split.
    remaining = groups.counts if groups else {"": Counter(counts)}
    needed = {label: dict(rows_per_split) for label, rows_per_split in planned.items()}
    rng = random.Random(seed)
    with atomic_paths([os.path.join(output_dir, name) for name in (*names, LISTING)]) as (*paths, listing):
        with contextlib.ExitStack() as stack:
            opened: dict[str, IO[str]] = {}
            for split, path in zip(splits, paths, strict=True):
                opened[split] = stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
                opened[split].write(_HEADERS[split])
            for row in (row for row in source.rows() if not row.reason and row.label in counts):
                label = row.label
                group_split = groups.split_of[str(row.group)] if groups else ""
                # Use Knuth's selection sampling per label. A row goes to a file with probability
                # (rows that the file still needs) / (remaining rows with this label), so that each
                # file gets exactly the planned number.
                draw = rng.random() * remaining[group_split][label]
                remaining[group_split][label] -= 1
                for split in (group_split,) if group_split else SPLITS:
                    draw -= needed[label][split]
                    if draw < 0:
                        needed[label][split] -= 1
                        cells = [row.identifier, row.text] if split == "test" else [row.identifier, label, "", row.text]
                        opened[split].write("\t".join(cells) + "\n")
                        break
        digests = {name: _digest(path) for name, path in zip(names, paths, strict=True)}
        write_json(listing, {"source": os.path.abspath(source.path), "files": digests})
    for name in old_names - set(names):
        files.remove(os.path.join(output_dir, name))
    return names
