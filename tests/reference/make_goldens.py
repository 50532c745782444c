"""Make tests/fixtures/golden/{squad,pretraining_data,classifier}: inputs and expected outputs.

   python tests/reference/make_goldens.py

Run it by hand in the project's root if the sets should cover other cases. Inputs are texts from
this project. Expected values come from the plain implementations in this directory, which do not
use bert_cli; test_plain.py compares them with outputs of the original. The same seeds give the same
files. The directories have the same layout as ../shared/golden, so that the same tests read both.
"""

import collections
import json
import pathlib
import random
import shutil

import numpy as np
import numpy_bert
import plain_classification
import plain_corpus
import plain_squad
from checkpoint_files import write_checkpoint
from plain_tokenizer import index_tokens, words_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ENDINGS = ["##s", "##ed", "##ing", "##er", "##es", "##ly"]
# Accents, characters that a tokenizer deletes, characters without a piece, and many kinds of white
# space.
HARD = (
    "  The  old mill\u00a0at Bår\u202fSund (built 1871–1874), was painted by José Núñez-Ortiz; it stands\t3.5 m above the "
    "river.\nIts keeper, Zoe\u0301, said: “Nobody sleeps here!” 日本の船 came by twice a day 🙂 until 1902, soft\u00adly.\n"
)
HARD_QUESTIONS = [
    ("Who painted the old mill?", "José Núñez-Ortiz"),
    ("When was it built?", "1871"),
    ("", "twice a day"),
    (
        "What was it that the keeper of the old mill at the river said to all who came by in those days?",
        "Nobody sleeps",
    ),
    ("How high?", "3.5 m above the river"),
    ("How?", "softly"),  # not in the text, which has a soft hyphen in this word
]
HARD_LINES = [
    "\ufeffThe clock\u2028was\u0085green, \x0band nobody saw\x0c it.\r",
    " \u3000 ",
    "José wrote " + "a" * 240 + " on the wall!",
    "\u200b",
    "An unbelievable, long (but true) story: “日本” is far – 1,000 km.",
    "One sentence alone.",
    "",
    "",
]
HARD_TEXTS = ['He said "no', '""', "", "\u200b", "Zoë\u2028came  by\u0085\x0b.", "word " * 40, "日本 is far 🙂"]


def write_json(path: pathlib.Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def write_lines(path: pathlib.Path, records: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records), encoding="utf-8")


def write_text(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def make_vocabulary(path: pathlib.Path, texts: list[str], do_lower_case: bool, num_words: int) -> dict[str, int]:
    """Write a vocabulary and return {token: id}.

    It has special tokens, frequent words, some endings, and every second character that is not an
    ASCII letter or digit.
    """
    counts = collections.Counter(word for text in texts for word in words_of(text, do_lower_case))
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if len(word) > 1]
    characters = sorted({character for word in counts for character in word})
    other_characters = [character for character in characters if not (character.isascii() and character.isalnum())]
    kept = [character for character in characters if character not in other_characters[1::2]]
    tokens = [*SPECIAL, *kept, *(f"##{character}" for character in kept), *ENDINGS, *words[:num_words]]
    tokens = list(dict.fromkeys(tokens))
    write_text(path, "\n".join(tokens) + "\n")
    return index_tokens(tokens)


def squad_data() -> dict:
    """Return five stories from data/squad, two of them in one context, and the hard text."""
    articles = json.loads((ROOT / "data/squad/dev-v2.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]][:5]
    paragraph_dicts = []
    for paragraph in paragraphs[:3]:
        paragraph_dicts.append(
            {"context": paragraph["context"], "qas": [with_one_answer(entry) for entry in paragraph["qas"]][:2]}
        )
    joined = "  ".join(paragraph["context"] for paragraph in paragraphs[3:])
    last = [with_one_answer(entry) for entry in paragraphs[-1]["qas"][:3]]
    shift = joined.index(paragraphs[-1]["context"])
    for answer in (answer for entry in last for answer in entry["answers"]):
        answer["answer_start"] += shift
    hard = []
    for number, (question, text) in enumerate(HARD_QUESTIONS):
        answers = [{"text": text, "answer_start": max(HARD.find(text), 0)}]
        hard.append({"id": f"hard-{number}", "question": question, "answers": answers, "is_impossible": False})
    paragraph_dicts += [{"context": joined, "qas": last}, {"context": HARD, "qas": hard}]
    return {"version": "v2.0", "data": [{"title": "Stories", "paragraphs": paragraph_dicts}]}


def with_one_answer(entry: dict) -> dict:
    return {**entry, "answers": [dict(answer) for answer in entry["answers"][:1]]}


def without_impossible(squad: dict) -> dict:
    """Return the data as SQuAD 1.1."""
    paragraphs = [
        {
            "context": paragraph["context"],
            "qas": [
                {name: entry[name] for name in ("id", "question", "answers")}
                for entry in paragraph["qas"]
                if not entry["is_impossible"]
            ],
        }
        for paragraph in squad["data"][0]["paragraphs"]
    ]
    return {"version": "1.1", "data": [{"title": "Stories", "paragraphs": paragraphs}]}


def make_squad(folder: pathlib.Path) -> None:
    versions = {"v2": squad_data(), "v1": without_impossible(squad_data())}
    contexts = [paragraph["context"] for paragraph in versions["v2"]["data"][0]["paragraphs"]]
    texts = [*contexts, *(question for question, _ in HARD_QUESTIONS)]
    rules = {
        "v1": [("random", 5, 20, 0.0), ("ties", 4, 7, 0.0)],
        "v2": [("random", 10, 20, 0.0), ("random", 8, 7, -3.0)],
    }
    for seed, (run, squad) in enumerate(versions.items()):
        lower, with_null = run == "v1", run == "v2"
        write_json(folder / f"{run}.json", squad)
        vocabulary = make_vocabulary(folder / f"vocab_{run}.txt", texts, lower, 120)
        lengths = {"max_seq_length": 48, "doc_stride": 20, "max_query_length": 10}
        questions = plain_squad.read_questions(squad)
        windows = plain_squad.windows(questions, vocabulary, lower, *lengths.values())
        if with_null:  # only one run for each, to save space
            training = plain_squad.read_training_questions(squad)
            random.Random(12345).shuffle(training)  # as in the original
            training_windows = plain_squad.windows(training, vocabulary, lower, *lengths.values())
            write_lines(folder / run / "train_features.jsonl", training_windows)
        else:
            write_lines(folder / run / "predict_features.jsonl", windows)
        rng = np.random.default_rng(seed + 10)
        logits = {
            "random": rng.normal(0, 3, (2, len(windows), 48)).astype(np.float32),
            "ties": rng.integers(-3, 4, (2, len(windows), 48)).astype(np.float32),
        }
        # Padding competes for positions, but not so strongly that a question gets no answer at all.
        logits["random"] -= 4 * (1 - np.array([window["input_mask"] for window in windows], np.float32))
        if with_null:  # gives the null answer a chance in every second question
            logits["random"][:, [window["example_index"] % 2 == 1 for window in windows], 0] += 7
        calls = []
        for distribution, n_best, longest, threshold in rules[run]:
            call = {"folder": f"{distribution}_nbest{n_best}_len{longest}", "logits": f"logits_{distribution}.npz"}
            call |= {"n_best_size": n_best, "max_answer_length": longest, "null_score_diff_threshold": threshold}
            calls.append(call)
            start, end = logits[distribution]
            np.savez_compressed(
                folder / run / call["logits"],
                unique_ids=np.array([window["unique_id"] for window in windows]), start_logits=start, end_logits=end,
            )  # fmt: skip
            output_files = plain_squad.predict(
                questions, windows, start.tolist(), end.tolist(), lower, call | {"version_2_with_negative": with_null}
            )
            for name, value in output_files.items():
                write_text(folder / run / call["folder"] / f"{name}.json", json.dumps(value, indent=4) + "\n")
        flags = {"data": f"{run}.json", "vocab": f"vocab_{run}.txt", "do_lower_case": lower}
        write_json(
            folder / run / "flags.json", flags | {"version_2_with_negative": with_null} | lengths | {"runs": calls}
        )


PRETRAINING_RUNS = {
    "plain": {"dupe_factor": 2, "max_seq_length": 48, "max_predictions_per_seq": 7},
    "whole_word": {
        "do_lower_case": False, "do_whole_word_mask": True, "dupe_factor": 1, "max_seq_length": 32,
        "max_predictions_per_seq": 6, "masked_lm_prob": 0.25, "short_seq_prob": 0.3, "random_seed": 65138,
    },
}  # fmt: skip


def make_pretraining_data(folder: pathlib.Path) -> None:
    lines = (ROOT / "data/pretraining/corpus.txt").read_text(encoding="utf-8").split("\n")[:40]
    # The first file ends inside a document, which continues in the second.
    files = {"text/a.txt": "\n".join(lines[:15]), "text/b.txt": "\n".join([*lines[15:35], *HARD_LINES, *lines[35:]])}
    for name, text in files.items():
        write_text(folder / name, text)
    for run, flags in PRETRAINING_RUNS.items():
        lower = flags.get("do_lower_case", True)
        vocabulary = make_vocabulary(folder / f"vocab_{run}.txt", list(files.values()), lower, 100)
        outputs = ["out.tfrecord"] if lower else ["out0.tfrecord", "out1.tfrecord"]
        all_flags = {"input_file": ",".join(files), "output_file": ",".join(outputs), "vocab_file": f"vocab_{run}.txt"}
        all_flags |= flags
        records = plain_corpus.instances(list(files.values()), vocabulary, all_flags)
        for number in range(len(outputs)):
            stem = "instances" if len(outputs) == 1 else f"instances_{number}"
            write_lines(folder / run / f"{stem}.jsonl", records[number :: len(outputs)])
        words = [
            f"--{name}={str(value).lower() if value in (True, False) else value}" for name, value in all_flags.items()
        ]
        write_json(
            folder / run / "flags.json",
            {"flags": all_flags, "command_line": words, "input_files_in_order": list(files), "instances": len(records)},
        )


def sentences(name: str, first: int, count: int) -> list[list[str]]:
    """Return rows of data/dev.tsv: phenomenon, label, mark and sentence."""
    lines = (ROOT / "data/dev.tsv").read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines[first : first + count]]


def cola_files() -> dict[str, str]:
    rows = {"train": sentences("cola", 0, 12), "dev": sentences("cola", 12, 5), "test": sentences("cola", 17, 6)}
    hard = [["hard", str(number % 2), "", text] for number, text in enumerate(HARD_TEXTS)]
    train, dev = ("".join("\t".join(row) + "\n" for row in rows[split] + hard) for split in ("train", "dev"))
    test = ["index\tsentence", *(f"{number}\t{row[3]}" for number, row in enumerate(rows["test"] + hard))]
    return {"train": train, "dev": dev, "test": "\n".join(test)}  # the test file has no newline at its end


def mrpc_files() -> dict[str, str]:
    header = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
    files = {}
    for seed, split in enumerate(("train", "dev", "test")):
        rows = [row[3] for row in sentences("mrpc", 100 + 20 * seed, 11)] + HARD_TEXTS
        # Neighbors are a pair; all hard texts come first and second; some pairs are cut on the left, some on the right.
        pairs = [(first, second * (number % 3 + 1)) for number, (first, second) in enumerate(zip(rows, rows[1:]))]  # noqa: B905, RUF007
        lines = [[str(number % 2), str(number), str(900 + number), *pair] for number, pair in enumerate(pairs)]
        files[split] = "".join("\t".join(row) + "\n" for row in [header, *lines])
    return files | {"dev": "\ufeff" + files["dev"].replace("\n", "\r\n")}


CONFIG = {
    "hidden_size": 9,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 16,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,  # must be off in evaluation and prediction
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
}


def make_classifier(folder: pathlib.Path) -> None:
    tasks = {"cola": cola_files(), "mrpc": mrpc_files()}
    texts = [text for files in tasks.values() for text in files.values()]
    vocabulary = make_vocabulary(folder / "vocab.txt", texts, True, 120)
    config = {"vocab_size": len(vocabulary), **CONFIG}
    write_json(folder / "bert_config.json", config)
    shapes = numpy_bert.variable_shapes(config, "classification", num_labels=2)
    for seed, (task, files) in enumerate(tasks.items()):
        weights = {name: v.astype(np.float32) for name, v in numpy_bert.random_weights(shapes, seed).items()}
        (folder / task / "model").mkdir(parents=True)
        write_checkpoint(folder / task / "model" / "model.ckpt-7", weights | {"global_step": np.int64(7)})
        records = {}
        for split, text in files.items():
            write_text(folder / task / "data" / f"{split}.tsv", text)
            rows = plain_classification.read_rows(task, split, text)
            records[split] = plain_classification.features(rows, vocabulary, True, 32)
            name = {"train": "train", "dev": "eval", "test": "predict"}[split]
            write_lines(folder / task / f"{name}_features.jsonl", records[split])
        results = plain_classification.eval_results(config, weights, records["dev"], 7)
        results = {name: value if name == "global_step" else np.float32(value) for name, value in results.items()}
        write_text(folder / task / "eval_results.txt", "".join(f"{n} = {v!s}\n" for n, v in results.items()))
        probabilities = plain_classification.outputs(config, weights, records["test"])["probabilities"]
        lines = ["\t".join(map(str, row)) + "\n" for row in probabilities.astype(np.float32)]
        write_text(folder / task / "test_results.tsv", "".join(lines))
        flags = {"task_name": task, "do_eval": "true", "do_predict": "true", "data_dir": f"{task}/data"}
        flags |= {"vocab_file": "vocab.txt", "bert_config_file": "bert_config.json", "max_seq_length": 32}
        write_json(folder / task / "flags.json", {"command_line": [f"--{n}={v}" for n, v in flags.items()]})


def main(folder: pathlib.Path = ROOT / "tests/fixtures/golden") -> None:
    for name, make in (
        ("squad", make_squad),
        ("pretraining_data", make_pretraining_data),
        ("classifier", make_classifier),
    ):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
        make(folder / name)


if __name__ == "__main__":
    main()
