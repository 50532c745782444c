"""Comparison of files that two versions of a command wrote, without values that always differ."""

import difflib
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import bert_cli  # noqa: F401  # turns off the telemetry of onnxruntime, which is imported below

# Keys in run_report.json, history.jsonl and similar files with times, rates, memory or dates.
_MEASURED = re.compile(r"seconds|per_second|memory|finished|^started$|^pid$|^host$|^time$")
_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_TIME = rf"(?:\d+:)?\d+:\d\d|{_NUMBER} (?:ms|s|seconds|min|h)\b"
# Pattern in a log, table or page -> text to compare instead.
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?)?"), "DATE"),
    (re.compile(r"\b[EWIF]\d{4} \d\d:\d\d:\d+\.\d+ +\d+ "), "LOG "),
    (re.compile(rf"(\b\w+/s(?:econd)? +){_NUMBER}"), r"\1RATE"),
    (re.compile(rf"{_NUMBER} ((?:\w+/s\b)|a second)"), r"RATE \1"),
    (re.compile(rf"(\bseconds +){_NUMBER}(?: +{_NUMBER} of them)?"), r"\1TIME"),
    (re.compile(rf"\b(?:{_TIME})"), "TIME"),
    (re.compile(rf"{_NUMBER} [KMG]i?B\b(?= \(of the process)"), "MEMORY"),
    (re.compile(r"<function .*? at 0x[0-9a-f]+>|\b0x[0-9a-f]{8,}\b"), "ADDRESS"),
    (re.compile(r"\b(?:tmp|bert_cli-)[a-z0-9_]{8}\b"), "TMP"),
    (re.compile(r"\bprocess \d+"), "process N"),
)  # fmt: skip
_PAGE_MASKS = (
    (re.compile(r'<article id="card-speed".*?</article>', re.S), "SPEED"),
    (re.compile(r"<b>[^<]*</b>(?=<span>(?:\w+/s|memory)</span>)"), "MEASURED"),
    (re.compile(r"(<dt>(?:\w+/s[^<]*|[^<]*memory[^<]*)</dt>\s*<dd>).*?(?=</dd>)", re.S), r"\1MEASURED"),
)  # fmt: skip


def compare_files(before: pathlib.Path, after: pathlib.Path, roots: tuple[str, str] = ("", "")) -> list[str]:
    """Return the differences, one per line; an empty list means that the files are equal.

    Args:
        before: file written by the first version.
        after: file written by the second version.
        roots: directory of each version, which its files may mention.
    """
    contents = [
        path.read_bytes().replace(root.encode() or b"\0", b"ROOT")
        for path, root in zip((before, after), roots, strict=True)
    ]
    if contents[0] == contents[1]:
        return []
    name = before.name
    for pattern, compare in _COMPARERS:
        if re.search(pattern, name):
            return compare(before, after, contents)
    return (
        _compare_texts(contents)
        if _is_text(contents[0])
        else [f"{len(contents[0])} and {len(contents[1])} bytes differ"]
    )


def mask_text(text: str) -> str:
    """Return a log without times, rates, memory, dates, process ids and the widths of columns."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return re.sub(r" {2,}", "  ", text)


def mask_measured(value: Any) -> Any:
    """Return a JSON value without its measured numbers; their keys stay."""
    if isinstance(value, dict):
        return {key: "MEASURED" if _MEASURED.search(key) else mask_measured(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mask_measured(item) for item in value]
    return value


def mask_page(text: str) -> str:
    for pattern, mask in _PAGE_MASKS:
        text = pattern.sub(mask, text)
    return mask_text(text).replace("><", ">\n<")


def first_difference(before: str, after: str) -> list[str]:
    """Return the first lines that differ, shortened, and how many more differences there are.

    The list is empty for equal texts.
    """
    lines = before.split("\n"), after.split("\n")
    changes = [
        change for change in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes() if change[0] != "equal"
    ]
    if not changes:
        return []
    _, start, end, after_start, after_end = changes[0]
    excerpts = ["\\n".join(lines[0][start:end]), "\\n".join(lines[1][after_start:after_end])]
    same = next((n for n, (a, b) in enumerate(zip(*excerpts, strict=False)) if a != b), 0)
    excerpt_start = max(0, same - 60)
    excerpts = [repr(excerpt[excerpt_start : excerpt_start + 160]) for excerpt in excerpts]
    more = f" (and {len(changes) - 1} more places)" if len(changes) > 1 else ""
    return [f"line {start + 1}: {excerpts[0]} != {excerpts[1]}{more}"]


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _compare_texts(contents: list[bytes]) -> list[str]:
    return first_difference(*(content.decode(errors="replace") for content in contents))


def _compare_logs(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return first_difference(*(mask_text(content.decode(errors="replace")) for content in contents))


def _compare_pages(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return first_difference(*(mask_page(content.decode(errors="replace")) for content in contents))


def _compare_json(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    texts = (json.dumps(mask_measured(json.loads(content)), indent=1, ensure_ascii=False) for content in contents)
    return first_difference(*texts)


def _compare_json_lines(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    texts = (
        "\n".join(json.dumps(mask_measured(json.loads(line))) for line in content.decode().splitlines())
        for content in contents
    )
    return first_difference(*texts)


def compare_arrays(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> list[str]:
    """Return the differences in dtype, shape and bits between arrays with the same names."""
    differences = [f"{name}: in one of both alone" for name in sorted(before.keys() ^ after.keys())]
    for name in sorted(before.keys() & after.keys()):
        a, b = np.asarray(before[name]), np.asarray(after[name])
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            differences.append(f"{name}: {a.dtype} {list(a.shape)} != {b.dtype} {list(b.shape)}")
        elif (a.tolist() if a.dtype == object else a.tobytes()) != (b.tolist() if b.dtype == object else b.tobytes()):
            number = int(np.sum(a != b))
            largest = f", by up to {np.max(np.abs(a - b)):.3g}" if a.dtype.kind in "fiu" and a.size else ""
            differences.append(f"{name}: {number} of {a.size} values differ{largest}")
    return differences


def _checkpoint(index: pathlib.Path) -> dict[str, np.ndarray]:
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(index.with_suffix("")))
    names = sorted(reader.get_variable_to_shape_map())
    # Leave out the object graph, an unordered protobuf: it records the location of
    # values, not the values.
    return {name: np.asarray(reader.get_tensor(name)) for name in names if name != "_CHECKPOINTABLE_OBJECT_GRAPH"}


def _compare_checkpoints(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    """Compare checkpoints if the index differs; do not report data files that differ alone."""
    indices = [
        next(path.parent.glob(path.name.split(".data-")[0].removesuffix(".index") + ".index"))
        for path in (before, after)
    ]
    if before.suffix != ".index" and indices[0].read_bytes() != indices[1].read_bytes():
        return []  # reported for the index
    try:
        return compare_arrays(*map(_checkpoint, indices))
    except Exception as error:  # a scenario may have damaged the checkpoint
        return [f"the bytes differ, and cannot be read: {str(error)[:80]}"]


def _h5(path: pathlib.Path) -> dict[str, np.ndarray]:
    import h5py

    arrays: dict[str, np.ndarray] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        arrays |= {f"@{name}": np.asarray(value) for name, value in file.attrs.items()}
    return arrays


def _compare_h5(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return compare_arrays(_h5(before), _h5(after))


def _compare_npz(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return compare_arrays(dict(np.load(before)), dict(np.load(after)))


def _compare_events(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return first_difference(*("\n".join(_events(path)) for path in (before, after)))


def _events(path: pathlib.Path) -> Iterator[str]:
    from tensorflow.compat.v1.train import summary_iterator

    for event in summary_iterator(str(path)):
        for value in event.summary.value:
            number = "MEASURED" if _MEASURED.search(value.tag) else value.simple_value, value.tensor.SerializeToString()
            yield f"{event.step} {value.tag} {'MEASURED' if number[0] == 'MEASURED' else number}"


def _compare_onnx(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    """Compare the weights, and the outputs for a few token ids."""
    weights, outputs = zip(*(_onnx(path) for path in (before, after)), strict=True)
    return compare_arrays(*weights) + [f"output {line}" for line in compare_arrays(*outputs)]


def _onnx(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    import onnx
    import onnxruntime

    model = onnx.load(path)
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ids = np.arange(16, dtype=np.int32).reshape(2, 8)
    inputs = {
        value.name: ids if "word" in value.name else np.ones_like(ids) * ("mask" in value.name)
        for value in session.get_inputs()
    }
    names = [value.name for value in session.get_outputs()]
    return weights, dict(zip(names, session.run(names, inputs), strict=True))


def _compare_saved_models(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    """Compare the outputs for a few texts or token ids; the weights are separate files."""
    return compare_arrays(*(_outputs(path.parent) for path in (before, after)))


def _outputs(folder: pathlib.Path) -> dict[str, np.ndarray]:
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  its operations

    model = tf.saved_model.load(str(folder))
    texts = tf.constant(["The dog sees a cat.", "naïve Überzüge 東京", ""])
    arrays: dict[str, np.ndarray] = {}
    for name, function in model.signatures.items():
        inputs = {key: _value(key, spec, texts) for key, spec in function.structured_input_signature[1].items()}
        arrays |= {f"{name}/{key}": value.numpy() for key, value in function(**inputs).items()}
    if callable(model):
        ids = tf.reshape(tf.range(16), (2, 8))
        encoder = {"input_word_ids": ids, "input_mask": tf.ones_like(ids), "input_type_ids": tf.zeros_like(ids)}
        has_text = not hasattr(model, "variables") or not model.variables
        results = model(texts) if has_text else model(encoder)
        for key, value in results.items():
            for number, tensor in enumerate(tf.nest.flatten(value, expand_composites=True)):
                arrays[f"{key}/{number}"] = tensor.numpy()
    if not arrays:
        raise ValueError(f"{folder}: nothing in this SavedModel can be run")
    return arrays


def _value(name: str, spec: Any, texts: Any) -> Any:
    import tensorflow as tf

    if spec.dtype == tf.string:
        return texts
    ids = tf.reshape(tf.range(16), (2, 8))
    ids = ids if "word" in name else tf.ones_like(ids) if "mask" in name else tf.zeros_like(ids)
    return tf.cast(ids, spec.dtype)


def _ignore(before: pathlib.Path, after: pathlib.Path, contents: list[bytes]) -> list[str]:
    return []


# Pattern of file names -> function that compares files with different bytes. All other
# files must be equal.
_COMPARERS = (
    (r"^stderr$", _compare_logs),
    (r"\.html$", _compare_pages),
    (r"^run_report\.json$|\.report\.json$", _compare_json),
    (r"^history\.jsonl$", _compare_json_lines),
    (r"tfevents", _compare_events),
    (r"\.index$|\.data-\d+-of-\d+$", _compare_checkpoints),
    (r"\.npz$", _compare_npz),
    (r"\.h5$", _compare_h5),
    (r"\.onnx$", _compare_onnx),
    (r"^saved_model\.pb$", _compare_saved_models),
    (r"^fingerprint\.pb$", _ignore),  # depends on saved_model.pb
)
