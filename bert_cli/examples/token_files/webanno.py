r"""Reader for WebAnno TSV 3 files, which INCEpTION and WebAnno export.

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value

    #Text=Anna Berg left
    1-1  0-4    Anna  *[1]  PER[1]
    1-2  5-9    Berg  *[1]  PER[1]
    1-3  10-14  left  _     _

Tabs separate the columns. Each feature in the header has a column after the words. The words with
the same number in brackets are one entity. "*" is an annotation without a value, and "_" means
that there is no annotation.
"""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names, list_some, quote
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tagging import COLUMNS, TaggingExample, TaggingFile
from bert_cli.examples.token_files.columns import read_lines
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.source import Source

_FORMAT = "#FORMAT=WebAnno TSV "
_VERSION = "3"
_WORD = 2  # column of the words, after their number and their offsets
_FIRST_FEATURE = 3
_SPAN_LAYER, _OTHER_LAYERS = "#T_SP=", ("#T_CH=", "#T_RL=")
_TOKEN = re.compile(r"\d+-\d+")
_PART_OF_TOKEN = re.compile(r"\d+-\d+\.\d+")
# Values contain a backslash before characters that have a meaning in the format.
_VALUE_END = re.compile(r"(?<!\\)\|")
_NUMBER = re.compile(r"(?<!\\)\[(\d+)\]$")
_NONE, _NO_VALUE = "_", "*"
_ADVICE = "export CoNLL 2002 or WebAnno TSV 3"


class _Feature(NamedTuple):
    """A column after the words: its number, its layer's short name, and the feature's name."""

    column: int
    layer: str
    name: str
    is_span: bool

    def __str__(self) -> str:
        return f"{self.column} {quote(self.name)} ({self.layer})"

    @property
    def title(self) -> str:
        """Return the feature's name with its layer."""
        return f"{self.name} ({self.layer})" if self.name else self.layer


class _Value(NamedTuple):
    """An annotation in a cell: its value, and its number in brackets, or ""."""

    text: str
    number: str


class _Word(NamedTuple):
    """A row with a word, and its annotations."""

    line: int
    text: str
    values: list[_Value]


def is_webanno(text: str) -> bool:
    """Return whether a file's text begins as WebAnno's own format."""
    return text.startswith(_FORMAT)


def read_webanno(source: Source, flags: TokenFlags) -> TaggingFile:
    """Read a file's sentences, with BIO tags from one feature.

    --tag_column names the feature. By default, use the value of named entities, or else the only
    feature of spans.

    Raises:
        InputError: the version is unknown, the feature is unclear, a row has a different form, or a
            word has several annotations.
    """
    path = source.name
    lines = read_lines(source)
    version = lines[0].removeprefix(_FORMAT).strip()
    is_known = version.split(".")[0] == _VERSION
    refuse_if(not is_known, f"{path}:1: is WebAnno TSV {version}, which is not read; {_ADVICE}")
    is_other = flags.word_column not in (None, str(_WORD))
    refuse_if(is_other, f"{path}: --word_column={flags.word_column}: WebAnno TSV has the words in column {_WORD}")
    features = _read_features(lines)
    flags = flags.decide_tags(lambda _: any(feature.is_span for feature in features))
    feature = _find_feature(path, features, flags) if flags.with_tags else None
    sentences = _read_sentences(path, lines, feature)
    refuse_if(not sentences, f"{path}: holds no words; export a document with text{flags.check_flag}")
    examples = []
    for words in sentences:
        numbers = tuple(word.line for word in words)
        tags = _make_tags(path, words) if feature else None
        examples.append(TaggingExample(tuple(word.text for word in words), tags, numbers[0], lines=numbers))
    if flags.logs:
        _warn_about_missing_values(path, sentences)
    used = {"tag": (feature.title,)} if feature else {}
    not_used = [other.title for other in features if other != feature]
    account = DataFacts(path, 0, columns=used, not_used=not_used)
    return TaggingFile(path, tuple(lines), tuple(examples), COLUMNS, account=account)


def _read_features(lines: Sequence[str]) -> list[_Feature]:
    features: list[_Feature] = []
    for line in itertools.takewhile(lambda line: line.startswith("#") or not line.strip(), lines):
        if not line.startswith((_SPAN_LAYER, *_OTHER_LAYERS)):
            continue
        layer, *names = line.rstrip("\r").partition("=")[2].split("|")
        for name in names or [""]:
            column = _FIRST_FEATURE + len(features)
            features.append(_Feature(column, layer.rpartition(".")[2], name, line.startswith(_SPAN_LAYER)))
    return features


def _find_feature(path: str, features: Sequence[_Feature], flags: TokenFlags) -> _Feature:
    """Return the feature that has the tags."""
    spans = [feature for feature in features if feature.is_span]
    refuse_if(not spans, f"{path}: has no layer with spans (#T_SP=); annotate named entities, or check the export")
    columns = ", ".join(map(str, features))
    if flags.tag_column is not None:
        width = _FIRST_FEATURE + len(features)
        column = flags.rules.tag_number % width if flags.rules.tag_number < 0 else flags.rules.tag_number
        chosen = [feature for feature in features if flags.tag_column == feature.name]
        if not flags.rules.tag_name:
            chosen = [feature for feature in features if feature.column == column]
        problem = (
            f"--tag_column={flags.tag_column} is {'several' if chosen else 'none'} of the columns with annotations"
        )
        refuse_if(len(chosen) != 1, f"{path}: {problem}; give the number of one: {columns}")
        return chosen[0]
    entities = [feature for feature in spans if feature.layer == "NamedEntity" and feature.name == "value"]
    other_features = [feature for feature in spans if feature.name != "identifier"]
    for candidates in (entities, other_features, spans):
        if len(candidates) == 1:
            return candidates[0]
    raise InputError(f"{path}: no column is the tag without doubt; give --tag_column by number: {columns}")


def _read_sentences(path: str, lines: Sequence[str], feature: _Feature | None) -> list[list[_Word]]:
    """Return the words of each sentence, with their values of a feature."""
    sentences: list[list[_Word]] = [[]]
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r").split("\t")
        if not line.strip() or line.startswith("#"):
            sentences += [[]] if sentences[-1] else []
            continue
        location = f"{path}:{number}"
        is_part = _PART_OF_TOKEN.fullmatch(cells[0]) is not None
        is_valid = is_part or _TOKEN.fullmatch(cells[0])
        if not is_valid or len(cells) <= max(_WORD, feature.column if feature else 0) or not cells[_WORD]:
            form = "1-1, offsets, a word and its annotations, with tabs in between"
            raise InputError(f"{location}: expected {form}, found {quote(line)}; {_ADVICE}")
        values = _read_values(cells[feature.column]) if feature else []
        if not is_part:
            sentences[-1].append(_Word(number, cells[_WORD], values))
        elif values:
            _widen(location, cells[_WORD], values, sentences[-1])
    return [sentence for sentence in sentences if sentence]


def _read_values(cell: str) -> list[_Value]:
    values = []
    for text in _VALUE_END.split(cell) if cell not in (_NONE, "") else ():
        match = _NUMBER.search(text)
        name = text[: match.start()] if match else text
        values.append(_Value(re.sub(r"\\(.)", r"\1", name), match[1] if match else ""))
    return values


def _widen(location: str, part: str, values: Sequence[_Value], sentence: Sequence[_Word]) -> None:
    """Add the annotations of a word's part to its word, with a warning."""
    refuse_if(not sentence, f"{location}: is a part of a word, and its word is missing; {_ADVICE}")
    word = sentence[-1]
    cut = f"the annotation of {quote(part)} ({', '.join(value.text for value in values)}) cuts the word {quote(word.text)}"
    if word.values:
        LOG.warning("%s: %s; it is left out, the word is in another annotation", location, cut)
    else:
        LOG.warning("%s: %s; it is widened to the whole word", location, cut)
        word.values.extend(values)


def _make_tags(path: str, words: Sequence[_Word]) -> tuple[str, ...]:
    """Return a sentence's BIO tags; raise InputError for a word with several annotations."""
    tags = []
    last = ""
    for word in words:
        if len(word.values) > 1:
            names = list_names([value.text for value in word.values])
            problem = f"the word {quote(word.text)} has several annotations ({names})"
            raise InputError(f"{path}:{word.line}: {problem}; a word has one tag, keep one of them")
        value = word.values[0] if word.values else _Value(_NO_VALUE, "")
        prefix = "I" if value.number and value.number == last else "B"
        tags.append(OUTSIDE if value.text == _NO_VALUE else f"{prefix}-{value.text}")
        last = value.number
    return tuple(tags)


def _warn_about_missing_values(path: str, sentences: Sequence[Sequence[_Word]]) -> None:
    without = [
        f"{path}:{word.line} {quote(word.text)}"
        for words in sentences
        for word in words
        if any(value.text == _NO_VALUE for value in word.values)
    ]
    if without:
        count = f"{len(without)} word{'s' if len(without) > 1 else ''} with an annotation without a value"
        LOG.warning("%s: %s, read as %s: %s", path, count, OUTSIDE, list_some(without, EXAMPLES))
