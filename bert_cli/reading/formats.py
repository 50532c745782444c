"""Table file formats by suffix."""

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


def find_format(path: str) -> str:
    """Return the format for a file's suffix; raise InputError for an unknown suffix."""
    suffix = _suffix(path)
    if suffix not in _FORMATS:
        raise InputError(
            f"{path}: a file that ends in {SUFFIXES} is needed; text formats may also be compressed, as in .csv.gz"
        )
    return _FORMATS[suffix]


def is_table(path: str) -> bool:
    """Return whether a file has a suffix of a table format."""
    _, dot, suffix = path.lower().removesuffix(".gz").rpartition(".")
    return bool(dot) and _FORMATS.get(suffix, TEXTS) != TEXTS


def is_text_format(path: str) -> bool:
    """Return whether a file has the suffix of a text format, or an unknown suffix."""
    return _FORMATS.get(_suffix(path)) not in (WORKBOOK, PARQUET, FEATHER)


def refuse_table(path: str) -> None:
    """Raise InputError for a table in --input_file, for commands that need a list of texts."""
    if is_table(path):
        raise InputError(
            f"--input_file={path}: is a table by its name, and one text per line is needed; "
            "write the column of texts into a .txt file"
        )


def is_tab_separated(path: str) -> bool:
    """Return whether a file's suffix allows tab-separated rows, as tasks have them."""
    return _FORMATS.get(_suffix(path), TSV) == TSV
