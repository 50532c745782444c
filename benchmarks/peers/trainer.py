"""Hugging Face's Trainer fine-tunes, evaluates and predicts on the four-column files that bert-classify reads.

    trainer.py MODEL FOLDER --batch 32 --epochs 1 --max_seq_length 128 [--bf16] [--group] [--random] [--device cuda] [--compile]

--group: batches of like length, the Trainer's fastest way to train on texts of mixed length; predictions are sorted by
length, too. --random: MODEL's config alone. --compile: by torch.compile. Prints a JSON object: train, steady (without the
first ten steps), predict (examples/s) and accuracy.
"""

import argparse
import json
import tempfile
import time

import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

LOGGED = 10  # steps between two readings of the clock, as in ours


class Clock(TrainerCallback):
    """The time after each LOGGED steps."""

    def __init__(self, wait):
        self.wait, self.times = wait, []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % LOGGED == 0:
            self.wait()
            self.times.append(time.perf_counter())


class Rows(torch.utils.data.Dataset):
    def __init__(self, tokenizer, lines: list[list[str]], text: int, label: int | None, longest: int):
        encoded = tokenizer([line[text] for line in lines], truncation=True, max_length=longest)
        self.rows = [
            {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
            | ({} if label is None else {"labels": int(line[label])})
            for ids, line in zip(encoded["input_ids"], lines, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict:
        return self.rows[number]


def read(path: str) -> list[list[str]]:
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folder")
    for name, kind in (("batch", int), ("epochs", float), ("max_seq_length", int), ("rate", float)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--device", default="cpu")
    for name in ("bf16", "group", "random", "compile"):
        parser.add_argument(f"--{name}", action="store_true")
    settings = parser.parse_args()
    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    train, dev = (
        Rows(tokenizer, read(f"{settings.folder}/{split}.tsv"), 3, 1, settings.max_seq_length)
        for split in ("train", "dev")
    )
    test = Rows(tokenizer, read(f"{settings.folder}/test.tsv")[1:], 1, None, settings.max_seq_length)
    how = {"attn_implementation": "sdpa"}
    if settings.random:
        model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(settings.model), **how)
    else:
        model = AutoModelForSequenceClassification.from_pretrained(settings.model, num_labels=2, **how)
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=settings.batch, per_device_eval_batch_size=64,
        num_train_epochs=settings.epochs, learning_rate=settings.rate, weight_decay=0.01, bf16=settings.bf16,
        bf16_full_eval=settings.bf16, use_cpu=settings.device == "cpu", torch_compile=settings.compile,
        report_to=[], save_strategy="no", logging_steps=10**6,
        disable_tqdm=True, seed=1, **({"train_sampling_strategy": "group_by_length"} if settings.group else {}),
    )  # fmt: skip
    clock = Clock(torch.cuda.synchronize if settings.device == "cuda" else lambda: None)
    trainer = Trainer(
        model=model, args=arguments, train_dataset=train, data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[clock],
    )  # fmt: skip
    began = time.perf_counter()
    trainer.train()
    trained = time.perf_counter() - began
    arguments.train_sampling_strategy = "random"  # or predictions come back in another order
    accuracy = float(np.mean(trainer.predict(dev).predictions.argmax(-1) == [row["labels"] for row in dev.rows]))
    test.rows.sort(key=lambda row: -len(row["input_ids"]))
    began = time.perf_counter()
    trainer.predict(test)
    predicted = time.perf_counter() - began
    rates = {"train": len(train) * settings.epochs / trained, "predict": len(test) / predicted}
    # Of all steps after the first reading, as batches of like length come in the order of their lengths.
    seen = LOGGED * settings.batch * (len(clock.times) - 1)
    steady = seen / (clock.times[-1] - clock.times[0]) if seen > 0 else rates["train"]
    print(json.dumps(rates | {"steady": steady, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
