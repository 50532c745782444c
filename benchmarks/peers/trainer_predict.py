"""Labels of a CSV's texts by datasets and Trainer.predict, or only reading and tokenizing them.

    trainer_predict.py MODEL TEXTS.csv [--output LABELS.csv] [--bf16]

Without --output, the script ends after tokenizing. Texts are sorted by length, so that batches of 64
need little padding. datasets keeps its tables in files.
"""

import argparse
import csv
import tempfile

from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("model", "texts"):
        parser.add_argument(name)
    parser.add_argument("--output")
    parser.add_argument("--bf16", action="store_true")
    settings = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    with tempfile.TemporaryDirectory() as folder:
        rows = load_dataset("csv", data_files=settings.texts, cache_dir=folder, split="train")

        def encode(batch: dict) -> dict:
            encoded = dict(tokenizer(batch["text"], truncation=True, max_length=128))
            return encoded | {"length": [len(ids) for ids in encoded["input_ids"]]}

        rows = rows.map(encode, batched=True)
        if not settings.output:
            return
        rows = rows.sort("length", reverse=True)
        arguments = TrainingArguments(
            output_dir=folder, per_device_eval_batch_size=64, use_cpu=True, report_to=[], disable_tqdm=True,
            bf16_full_eval=settings.bf16,
        )  # fmt: skip
        model = AutoModelForSequenceClassification.from_pretrained(settings.model, num_labels=2)
        trainer = Trainer(model=model, args=arguments, data_collator=DataCollatorWithPadding(tokenizer))
        inputs = rows.select_columns(["input_ids", "token_type_ids", "attention_mask"])
        labels = trainer.predict(inputs).predictions.argmax(-1)
        with open(settings.output, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(sorted(zip(rows["id"], labels.tolist(), strict=True)))


if __name__ == "__main__":
    main()
