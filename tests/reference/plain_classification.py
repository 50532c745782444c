"""Classification examples, features and scores in the simplest form, for columns of CoLA and MRPC.

They follow a description of the original's rules, and give expected values.
"""

import numpy as np
import numpy_bert
from plain_tokenizer import tokenize

# File -> columns of text_a, text_b and label, counted from 0, and whether the first row is a
# header.
COLUMNS = {
    ("cola", "train"): ((3, None, 1), False),
    ("cola", "dev"): ((3, None, 1), False),
    ("cola", "test"): ((1, None, None), True),
    ("mrpc", "train"): ((3, 4, 0), True),
    ("mrpc", "dev"): ((3, 4, 0), True),
    ("mrpc", "test"): ((3, 4, None), True),
}
LABELS = ("0", "1")


def read_rows(task: str, split: str, text: str) -> list[dict]:
    """Return guid, text_a, text_b and label per row; test rows have the first label."""
    (text_a, text_b, label), has_header = COLUMNS[task, split]
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")
    examples = []
    for number, line in enumerate(lines):
        if number or not has_header:
            row = line.split("\t")
            examples.append(
                {
                    "guid": f"{split}-{number}",
                    "text_a": row[text_a],
                    "text_b": None if text_b is None else row[text_b],
                    "label": LABELS[0] if label is None else row[label],
                }
            )
    return examples


def features(rows, vocabulary, do_lower_case: bool, max_seq_length: int) -> list[dict]:
    """Return `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, cut and padded, as the original's records."""
    records = []
    for row in rows:
        a, b = (tokenize(row[name] or "", vocabulary, do_lower_case) for name in ("text_a", "text_b"))
        while b and len(a) + len(b) > max_seq_length - 3:
            (a if len(a) > len(b) else b).pop()
        a = a[: max_seq_length - 2]
        tokens = ["[CLS]", *a, "[SEP]"] + ([*b, "[SEP]"] if b else [])
        segments = [0] * (len(a) + 2) + [1] * (len(tokens) - len(a) - 2)
        padding = [0] * (max_seq_length - len(tokens))
        records.append(
            {
                "guid": row["guid"],
                "input_ids": [vocabulary[token] for token in tokens] + padding,
                "input_mask": [1] * len(tokens) + padding,
                "segment_ids": segments + padding,
                "label_ids": [LABELS.index(row["label"])],
                "is_real_example": [1],
            }
        )
    return records


def outputs(config: dict, weights: dict, records: list[dict]) -> dict[str, np.ndarray]:
    """Return probabilities [n, labels] and example_loss [n] for records from `features`."""
    names = ("input_ids", "input_mask", "segment_ids", "label_ids")
    batch = {name: np.array([record[name] for record in records]) for name in names}
    pooled = numpy_bert.forward(config, weights, *(batch[name] for name in names[:3]))["pooled_output"]
    return numpy_bert.classifier(weights, pooled, batch["label_ids"])


def eval_results(config, weights, records, global_step: int, batch_size: int = 8) -> dict[str, float]:
    """Return the entries of eval_results.txt.

    `eval_loss` is the mean over examples, `loss` the mean over batches.
    """
    predictions = outputs(config, weights, records)
    labels = np.array([record["label_ids"][0] for record in records])
    batches = [predictions["example_loss"][start : start + batch_size] for start in range(0, len(records), batch_size)]
    return {
        "eval_accuracy": float(np.mean(predictions["probabilities"].argmax(-1) == labels)),
        "eval_loss": float(predictions["example_loss"].mean()),
        "global_step": global_step,
        "loss": float(np.mean([batch.mean() for batch in batches])),
    }
