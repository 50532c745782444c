"""Texts with spans for tests of annotations: generated texts, and files in each tool's format."""

import json
import pathlib

from hypothesis import strategies as st

from bert_cli.examples.text_lines import split_text

# Combining marks, emoji with several code points, ideographs, right-to-left text, control
# characters and line ends.
HARD = [
    "é", "नि", "👩🏽‍🚀", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇫🇮", "中", "文", "שלום", "\u200fمرحبا\u200f", "\u200b", "\0", "\x0b", "\x1f", "\x85", "\ufeff",
    "\t", "\n", "\r\n", "\r", "\u2028", "\u3000", " ", "  ", ".", ",", "'", "-", "“", "Anna", "Lund", "I.B.M.", "a", "B7",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(HARD) | st.characters(codec="utf-8"), max_size=16).map("".join)
TYPES = ("PER", "LOC", "work-of-art")


@st.composite
def annotated_texts(draw) -> tuple[str, list[tuple[int, int, str]]]:
    """Draw a text and spans of whole words, which may touch but do not overlap."""
    text = draw(TEXTS)
    words, starts = split_text(text)
    spans = []
    word = 0
    while word < len(words):
        size = draw(st.integers(0, 3))
        if size:
            last = min(word + size, len(words)) - 1
            spans.append((starts[word], starts[last] + len(words[last]), draw(st.sampled_from(TYPES))))
        word += max(size, 1)
    return text, spans


DOCUMENTS = ("label_studio", "label_studio_min", "spacy_pairs")
FORMATS = (
    "doccano", "doccano_labels", "doccano_relations", "doccano_annotations", "prodigy", "spacy", "spacy_doc",
    "dataturks", *DOCUMENTS, "brat",
)  # fmt: skip


def write(folder: pathlib.Path, name: str, texts) -> str:
    """Write texts with spans in a format, and return the path.

    Args:
        folder: directory to write to.
        name: one of FORMATS.
        texts: pairs (text, spans), with None as the spans if a text has no annotations.
    """
    records = [_RECORDS[name](text, spans) for text, spans in texts] if name != "brat" else []
    if name == "brat":
        path = folder / "train"
        path.mkdir()
        for number, (text, spans) in enumerate(texts):
            document = path / f"d{number:03d}.txt"
            document.write_bytes(text.encode("utf-8"))
            if spans is not None:
                document.with_suffix(".ann").write_bytes(_standoff(text, spans).encode("utf-8"))
    elif name in DOCUMENTS:
        path = folder / "train.json"
        path.write_text(json.dumps(records), encoding="utf-8")
    else:
        path = folder / "train.jsonl"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return str(path)


def _standoff(text, spans) -> str:
    """Return an .ann file as brat writes it: a span has one part per line."""
    rows = []
    for number, (start, end, entity_type) in enumerate(spans, 1):
        intervals, begin = [], start
        for line in text[start:end].splitlines(keepends=True):
            inner = line.splitlines()[0]
            intervals += [(begin, begin + len(inner))] if inner else []
            begin += len(line)
        intervals = intervals or [(start, end)]
        shown = " ".join(text[a:b] for a, b in intervals) if text[start:end].splitlines()[0] else ""
        rows.append(f"T{number}\t{entity_type} {';'.join(f'{a} {b}' for a, b in intervals)}\t{shown}\n")
    return "".join(rows) + "R1\tknows Arg1:T1 Arg2:T2\t\n#1\tAnnotatorNotes T1\ta note\n"


def _region(text, start, end, entity_type):
    value = {"start": start, "end": end, "text": text[start:end].replace("\n", "\\n"), "labels": [entity_type]}
    return {"id": "x", "from_name": "ner", "to_name": "words", "type": "labels", "value": value}


def _task(text, spans):
    annotations = (
        [] if spans is None else [{"was_cancelled": False, "result": [_region(text, *span) for span in spans]}]
    )
    return {"id": 7, "data": {"content": text, "number": 3}, "annotations": annotations, "meta": {"from": "x"}}


def _points(text, start, end, entity_type):
    return {"label": [entity_type], "points": [{"start": start, "end": end - 1, "text": text[start:end]}]}


def _objects(spans, names):
    return [dict(zip(names, span, strict=True)) for span in spans]


_RECORDS = {
    "doccano": lambda text, spans: {"id": 7, "text": text, "Comments": [], "label": spans},
    "doccano_labels": lambda text, spans: {"id": 7, "data": text, "labels": spans},
    "doccano_relations": lambda text, spans: {
        "id": 7, "text": text, "relations": [{"id": 1}],
        "entities": spans and _objects(spans, ("start_offset", "end_offset", "label")),
    },
    "prodigy": lambda text, spans: {
        "text": text, "_input_hash": 1, "_task_hash": 2, "meta": {"source": "x"},
        **({} if spans is None else {"spans": _objects(spans, ("start", "end", "label")), "answer": "accept"}),
    },
    "doccano_annotations": lambda text, spans: {
        "id": 7, "text": text, "meta": {},
        "annotations": spans and _objects(spans, ("start_offset", "end_offset", "label")),
    },
    "spacy": lambda text, spans: {"text": text, "entities": spans},
    "spacy_doc": lambda text, spans: {
        "text": text, "tokens": [{"id": 0, "start": 0, "end": 1}],
        **({} if spans is None else {"ents": _objects(spans, ("start", "end", "label"))}),
    },
    "spacy_pairs": lambda text, spans: [text, {} if spans is None else {"entities": spans}],
    "dataturks": lambda text, spans: {
        "content": text, "extras": None, "annotation": spans and [_points(text, *span) for span in spans],
    },
    "label_studio": _task,
    "label_studio_min": lambda text, spans: {
        "content": text, "number": 3,
        **({} if spans is None else {
            "ner": [_region(text, *span)["value"] for span in spans], "annotation_id": 9, "lead_time": 1.5,
        }),
    },
}  # fmt: skip
