"""Formats of table files, by the suffix of a file's name."""

from bert_cli.base.errors import InputError

TSV = "tsv"
CSV = "csv"
JSON = "json"
TEXTS = "txt"
WORKBOOK = "workbook"
PARQUET = "parquet"
FEATHER = "feather"
_FORMATS = {
    "tsv": TSV, "tab": TSV, "csv": CSV, "jsonl": JSON, "ndjson": JSON, "json": JSON, "txt": TEXTS,
    "xlsx": WORKBOOK, "xlsm": WORKBOOK, "xlsb": WORKBOOK, "xls": WORKBOOK, "ods": WORKBOOK,
    "parquet": PARQUET, "pq": PARQUET, "feather": FEATHER, "arrow": FEATHER,
}  # fmt: skip
SUFFIXES = ".tsv, .csv, .jsonl, .json, .txt, .xlsx, .xls, .ods, .parquet or .feather"


def _suffix(path: str) -> str:
    return path.lower().removesuffix(".gz").rpartition(".")[2]


def format_of(path: str) -> str:
    """Return the format that a file's suffix names; raise InputError for another suffix."""
    suffix = _suffix(path)
    if suffix not in _FORMATS:
        raise InputError(
            f"{path}: a file that ends in {SUFFIXES} is needed; text formats may also be compressed, as in .csv.gz"
        )
    return _FORMATS[suffix]


def is_table(path: str) -> bool:
    """Return whether the suffix of a file's name says that it holds a table."""
    _, dot, suffix = path.lower().removesuffix(".gz").rpartition(".")
    return bool(dot) and _FORMATS.get(suffix, TEXTS) != TEXTS


def is_text_format(path: str) -> bool:
    """Return whether the suffix of a file's name, if it has a known one, says that the file is text."""
    return _FORMATS.get(_suffix(path)) not in (WORKBOOK, PARQUET, FEATHER)


def refuse_table(path: str) -> None:
    """Raise InputError for --input_file, if a list of texts is needed and its suffix names a table."""
    if is_table(path):
        raise InputError(
            f"--input_file={path}: is a table by its name, and one text per line is needed; "
            "write the column of texts into a .txt file"
        )


def is_tab_separated(path: str) -> bool:
    """Return whether a file may be in the layout of a task: its suffix names no other format."""
    return _FORMATS.get(_suffix(path), TSV) == TSV
