"""Table file formats by suffix."""

from typing import NamedTuple

from bert_cli.base.errors import InputError

TSV = "tsv"
CSV = "csv"
JSON = "json"
TEXTS = "txt"
WORKBOOK = "workbook"
PARQUET = "parquet"
FEATHER = "feather"


class TableFormat(NamedTuple):
    """A format of table files.

    Attributes:
        name: the format's name.
        suffixes: endings of its files' names, in lower case, the usual ones first.
        description: description for docs/data.md.
        num_usual: number of suffixes that a message proposes.
        is_text: whether its files are text, which may be packed with gzip.
        mark: first bytes of its files, b"" for text.
        misnamed: description of such a file with the suffix of a text format, and advice.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    num_usual: int = 1
    is_text: bool = True
    mark: bytes = b""
    misnamed: str = ""


_PACKED = "a ZIP file, perhaps a workbook; unpack it, or let the name of a workbook end in .xlsx or .ods"
# One row per format; `probe.READERS` has the reader of a format that is not delimited text.
FORMATS = (
    TableFormat(TSV, ("tsv", "tab"), "text with tabs between the cells; quotes are characters, see `--quoting`"),
    TableFormat(CSV, ("csv",), "text with commas, semicolons, tabs or vertical bars, and CSV quotes"),
    TableFormat(JSON, ("jsonl", "json", "ndjson"), "objects per line or in an array, and exports of annotation tools", 2),
    # Source makes it JSON lines.
    TableFormat(JSON, ("spacy",), "spaCy's DocBin, with the package spacy", 0),
    # The last ones are usual for fastText's lines.
    TableFormat(TEXTS, ("txt", "ft", "train", "valid", "test"), "a text per line, rows with tabs, or fastText's lines"),
    TableFormat(
        WORKBOOK, ("xlsx", "xlsm", "xlsb"), "a sheet of a workbook", 1, False, b"PK\x03\x04", _PACKED
    ),
    TableFormat(
        WORKBOOK, ("xls",), "a sheet of an old workbook", 1, False, b"\xd0\xcf\x11\xe0",
        "an old workbook; let its name end in .xls",
    ),
    TableFormat(WORKBOOK, ("ods",), "a sheet of an OpenDocument workbook", 1, False, b"PK\x03\x04", _PACKED),
    TableFormat(
        PARQUET, ("parquet", "pq"), "columns with names", 1, False, b"PAR1",
        "a Parquet file; let its name end in .parquet",
    ),
    TableFormat(
        FEATHER, ("feather", "arrow"), "columns with names", 1, False, b"ARROW1",
        "a Feather file; let its name end in .feather",
    ),
)  # fmt: skip
_BY_SUFFIX = {suffix: table_format for table_format in FORMATS for suffix in table_format.suffixes}
_USUAL = [f".{suffix}" for row in FORMATS for suffix in row.suffixes[: row.num_usual]]
SUFFIXES = f"{', '.join(_USUAL[:-1])} or {_USUAL[-1]}"


def _suffix(path: str) -> str:
    return path.lower().removesuffix(".gz").rpartition(".")[2]


def find_format(path: str) -> str:
    """Return the format for a file's suffix; raise InputError for an unknown suffix."""
    suffix = _suffix(path)
    if suffix not in _BY_SUFFIX:
        raise InputError(
            f"{path}: a file that ends in {SUFFIXES} is needed; text formats may also be compressed, as in .csv.gz"
        )
    return _BY_SUFFIX[suffix].name


def is_table(path: str) -> bool:
    """Return whether a file has a suffix of a table format."""
    _, dot, suffix = path.lower().removesuffix(".gz").rpartition(".")
    return bool(dot) and suffix in _BY_SUFFIX and _BY_SUFFIX[suffix].name != TEXTS


def is_text_format(path: str) -> bool:
    """Return whether a file has the suffix of a text format, or an unknown suffix."""
    suffix = _suffix(path)
    return suffix not in _BY_SUFFIX or _BY_SUFFIX[suffix].is_text


def refuse_table(path: str) -> None:
    """Raise InputError for a table in --input_file, for commands that need a list of texts."""
    if is_table(path):
        raise InputError(
            f"--input_file={path}: is a table by its name, and one text per line is needed; "
            "write the column of texts into a .txt file"
        )


def is_tab_separated(path: str) -> bool:
    """Return whether a file's suffix allows tab-separated rows, as tasks have them."""
    suffix = _suffix(path)
    return suffix not in _BY_SUFFIX or _BY_SUFFIX[suffix].name == TSV
