"""Folders that transformers' Trainer saves, and transformers' outputs for texts.

Reads a list of requests from standard input and prints the list of results, both as JSON:

    ["save", TASK, DIRECTORY, VOCABULARY, LABELS]   train two steps, save, and return the names of the files
    ["run", TASK, DIRECTORY, TEXTS]                 load a directory, and return its labels and outputs

It runs under a Python that has transformers, torch and accelerate, which are not part of the project: see
tests/commands/test_transformers_folders.py.
"""

import json
import os
import sys

import torch
import transformers

CLASSES = {
    "classification": "AutoModelForSequenceClassification",
    "tagging": "AutoModelForTokenClassification",
    "answers": "AutoModelForQuestionAnswering",
    "masked_lm": "AutoModelForMaskedLM",
}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def save(task: str, folder: str, vocab_file: str, labels: list[str]) -> list[str]:
    tokenizer = transformers.BertTokenizerFast(vocab_file, model_max_length=512)
    tokenizer.add_tokens(["<user>"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["[E1]"]})
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), initializer_range=0.3, **SIZES, **(names if labels else {})
    )
    torch.manual_seed(1)
    model = getattr(transformers, CLASSES[task]).from_config(config)
    encoded = tokenizer("the <user> [E1] a")
    targets = {
        "classification": {"labels": 1},
        "tagging": {"labels": [1] * len(encoded["input_ids"])},
        "masked_lm": {"labels": encoded["input_ids"]},
        "answers": {"start_positions": 1, "end_positions": 2},
    }
    arguments = transformers.TrainingArguments(
        f"{folder}_training", max_steps=2, report_to="none", save_strategy="no", use_cpu=True, disable_tqdm=True
    )
    rows = [dict(encoded) | targets[task]] * 2
    trainer = transformers.Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer)
    # It logs to standard output, where the result is expected.
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    trainer.save_model(folder)
    return sorted(os.listdir(folder))


def run(task: str, folder: str, texts: list) -> dict:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, info = getattr(transformers, CLASSES[task]).from_pretrained(folder, output_loading_info=True)
    outputs = []
    for text in texts:
        encoded = tokenizer(*([text] if isinstance(text, str) else text), return_tensors="pt")
        with torch.no_grad():
            result = model.eval()(**encoded)
        outputs.append(
            {"ids": encoded["input_ids"][0].tolist()} | {name: values[0].tolist() for name, values in result.items()}
        )
    labels = [model.config.id2label[number] for number in range(model.config.num_labels)]
    # Missing, unexpected and mismatched weights.
    return {"labels": labels, "problems": sorted(name for names in info.values() for name in names), "outputs": outputs}


if __name__ == "__main__":
    actions = {"save": save, "run": run}
    print(json.dumps([actions[name](*arguments) for name, *arguments in json.load(sys.stdin)]))
