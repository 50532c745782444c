"""Fine-tuning and prediction with Hugging Face's Trainer on bert-classify's four-column files.

    trainer.py MODEL FOLDER --batch 32 --epochs 1 --max_seq_length 128 [--bf16] [--group] [--random] [--device cuda] [--compile]

--group: use batches of similar length, the Trainer's fastest training for texts of mixed length.
Predictions are always sorted by length. --random: use only MODEL's config. --compile: use
torch.compile. Prints a JSON object: train, steady (without the first ten steps), predict
(examples/s) and accuracy.
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

LOG_STEPS = 10  # steps between two times, as in our benchmark


class Clock(TrainerCallback):
    """Callback that records the time after every LOG_STEPS steps."""

    def __init__(self, wait):
        self.wait, self.times = wait, []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % LOG_STEPS == 0:
            self.wait()
            self.times.append(time.perf_counter())


class Rows(torch.utils.data.Dataset):
    """Tokenized rows, with labels if a label column is given."""

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
    """Return the cells of each line."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folder")
    for name, value_type in (("batch", int), ("epochs", float), ("max_seq_length", int), ("rate", float)):
        parser.add_argument(f"--{name}", type=value_type, required=True)
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
    model_options = {"attn_implementation": "sdpa"}
    if settings.random:
        model = AutoModelForSequenceClassification.from_config(
            AutoConfig.from_pretrained(settings.model), **model_options
        )
    else:
        model = AutoModelForSequenceClassification.from_pretrained(settings.model, num_labels=2, **model_options)
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
    start = time.perf_counter()
    trainer.train()
    training_seconds = time.perf_counter() - start
    arguments.train_sampling_strategy = "random"  # otherwise predictions are in a different order
    accuracy = float(np.mean(trainer.predict(dev).predictions.argmax(-1) == [row["labels"] for row in dev.rows]))
    test.rows.sort(key=lambda row: -len(row["input_ids"]))
    start = time.perf_counter()
    trainer.predict(test)
    prediction_seconds = time.perf_counter() - start
    rates = {"train": len(train) * settings.epochs / training_seconds, "predict": len(test) / prediction_seconds}
    # Use all steps after the first time: batches of similar length are sorted by length.
    num_examples = LOG_STEPS * settings.batch * (len(clock.times) - 1)
    steady = num_examples / (clock.times[-1] - clock.times[0]) if num_examples > 0 else rates["train"]
    print(json.dumps(rates | {"steady": steady, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
