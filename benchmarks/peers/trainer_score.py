"""Fine-tuning with Hugging Face's Trainer, and its dev score, on files that score_tasks.py writes.

    trainer_score.py MODEL TRAIN DEV --kind classes --metric eval_mcc --seed 1 [--rate 3e-4] [--batch 16] [--bf16] [--group]

KIND is classes, number or tags. Without further flags, TrainingArguments' defaults hold: rate 5e-5
with linear decay and no warm-up, batch 8, 3 epochs; batches are padded to their longest row.
--group: use batches of similar length. Prints a JSON object: score, and seconds of train().
"""

import argparse
import json
import tempfile
import time

import numpy as np
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

MAX_LENGTH = 128
NO_LABEL = -100  # label for word pieces that do not begin a word


class Rows(torch.utils.data.Dataset):
    """Encoded rows."""

    def __init__(self, rows: list[dict]):
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict:
        return self.rows[number]


def read_objects(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_sentences(path: str) -> list[list[list[str]]]:
    """Return [word, tag] pairs, per sentence."""
    with open(path, encoding="utf-8") as file:
        return [[line.split("\t") for line in block.split("\n")] for block in file.read().strip().split("\n\n")]


def encode_texts(tokenizer, rows: list[dict], labels: list[str]) -> Rows:
    """Encode texts or pairs; `labels` is empty for a regression."""
    pairs = [row["text_b"] for row in rows] if "text_b" in rows[0] else None
    encoded = tokenizer([row["text"] for row in rows], pairs, truncation=True, max_length=MAX_LENGTH)
    targets = [labels.index(row["label"]) if labels else row["label"] for row in rows]
    return Rows(
        [
            {name: values[number] for name, values in encoded.items()} | {"labels": target}
            for number, target in enumerate(targets)
        ]
    )


def encode_sentences(tokenizer, sentences: list, labels: list[str]) -> Rows:
    """Encode sentences; a word's first piece has its tag."""
    rows = []
    for sentence in sentences:
        words = [word for word, _ in sentence]
        encoded = tokenizer(words, is_split_into_words=True, truncation=True, max_length=MAX_LENGTH)
        places = encoded.word_ids()
        is_first = [place is not None and (i == 0 or place != places[i - 1]) for i, place in enumerate(places)]
        tags = [
            labels.index(sentence[place][1]) if first else NO_LABEL
            for place, first in zip(places, is_first, strict=True)
        ]
        rows.append(dict(encoded) | {"labels": tags})
    return Rows(rows)


def entity_f1(tokenizer, sentences: list, predictions: np.ndarray, references: np.ndarray, labels: list[str]) -> float:
    """Return the F1 of entities. Words without a prediction, such as those beyond the length, are O."""
    from seqeval.metrics import f1_score

    tags = []
    for sentence, row, ids in zip(sentences, predictions.argmax(-1), references, strict=True):
        encoded = tokenizer(
            [word for word, _ in sentence], is_split_into_words=True, truncation=True, max_length=MAX_LENGTH
        )
        by_word = dict.fromkeys(range(len(sentence)), "O")
        for place, tag, reference in zip(encoded.word_ids(), row, ids, strict=False):
            if reference != NO_LABEL:
                by_word[place] = labels[tag]
        tags.append(list(by_word.values()))
    return float(f1_score([[tag for _, tag in sentence] for sentence in sentences], tags))


def score_of(metric: str, predictions: np.ndarray, references: np.ndarray) -> float:
    if metric == "eval_pearson":
        return float(np.corrcoef(predictions[:, 0], references)[0, 1])
    from sklearn.metrics import accuracy_score, matthews_corrcoef

    best = predictions.argmax(-1)
    return float((matthews_corrcoef if metric == "eval_mcc" else accuracy_score)(references, best))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("model", "train", "dev"):
        parser.add_argument(name)
    for name in ("kind", "metric"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--group", action="store_true")
    settings = parser.parse_args()
    torch.manual_seed(settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    labels: list[str] = []
    sentences: list = []
    if settings.kind == "tags":
        train, sentences = read_sentences(settings.train), read_sentences(settings.dev)
        labels = sorted({tag for sentence in [*train, *sentences] for _, tag in sentence})
        encoded = [encode_sentences(tokenizer, split, labels) for split in (train, sentences)]
        model = AutoModelForTokenClassification.from_pretrained(settings.model, num_labels=len(labels))
        collate = DataCollatorForTokenClassification(tokenizer)
    else:
        train, dev = read_objects(settings.train), read_objects(settings.dev)
        labels = sorted({row["label"] for row in train}) if settings.kind == "classes" else []
        encoded = [encode_texts(tokenizer, split, labels) for split in (train, dev)]
        model = AutoModelForSequenceClassification.from_pretrained(settings.model, num_labels=len(labels) or 1)
        collate = DataCollatorWithPadding(tokenizer)
    options = {"learning_rate": settings.rate, "per_device_train_batch_size": settings.batch}
    if settings.group:
        options["train_sampling_strategy"] = "group_by_length"
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, seed=settings.seed, use_cpu=True, report_to=[], disable_tqdm=True,
            bf16=settings.bf16, bf16_full_eval=settings.bf16,
            **{name: value for name, value in options.items() if value is not None},
        )  # fmt: skip
        trainer = Trainer(model=model, args=arguments, train_dataset=encoded[0], data_collator=collate)
        start = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - start
        arguments.train_sampling_strategy = "random"  # otherwise predictions are in a different order
        output = trainer.predict(encoded[1])
        trainer.save_model()
    if sentences:
        score = entity_f1(tokenizer, sentences, output.predictions, output.label_ids, labels)
    else:
        score = score_of(settings.metric, output.predictions, output.label_ids)
    print(json.dumps({"score": score, "train_seconds": seconds}))


if __name__ == "__main__":
    main()
