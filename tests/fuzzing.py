"""Readers of untrusted files, a valid file for each, and random damage to it."""

import gzip
import io
import json
import pathlib
import random
import tarfile
import tempfile
from collections.abc import Callable
from typing import NamedTuple

import h5py
import numpy as np
import safetensors.numpy
from checkpoint_files import write_checkpoint

from bert_cli.corpus.record_source import RecordSource
from bert_cli.corpus.text import read_blocks, tokenize_block
from bert_cli.examples import tables, user_tables
from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.examples.classification import find_labels
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.squad import reading as squad
from bert_cli.examples.squad.lines import QuestionLines
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.examples.task_files import read_examples
from bert_cli.examples.text_lines import read_text_lines
from bert_cli.examples.token_files import bio_tags
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.flags.saved import read_remembered
from bert_cli.model.config_files import read_config, read_module_config
from bert_cli.outputs.annotations import write_annotations
from bert_cli.outputs.answers.tagging import TagPrediction
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.reading.source import Source
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import is_record_file, pack_records, read_records
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.engine.shards import LISTING, ShardPlan
from bert_cli.runs.resuming import find_checkpoint_to_resume
from bert_cli.settings.classification import ClassifySettings
from bert_cli.text.hugging_face_files import read_tokenizer_json
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.h5_files import KerasReader
from bert_cli.weights.hugging_face import HuggingFaceReader
from bert_cli.weights.module_path import find_module
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import newest_undamaged

PARTS = [
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\r", b"\r\n", b"\t", b" ", b",", b'"', b'""', b"'", b"{", b"}",
    b"[", b"]", b"[" * 5000, b'{"a":' * 3000, b"-1", b"0", b"1e999", b"NaN", b"9" * 5000, b"1" * 30, b"null", b"true", b"../",
    b"\\u0000", b"\\ud800", b"\xe2\x80\xa8", b"\xc2\x85", b"\xf0\x9f\x98\x80", b"B-", b"O", b"[UNK]", b"\x1f\x8b",
    b"\x7f" * 8, b"\x80" * 11,
]  # fmt: skip


def damage(content: bytes, other_files: list[bytes], draws: random.Random) -> bytes:
    """Return bytes with one to four random changes; one result in 50 is only noise.

    Args:
        content: a valid file's content.
        other_files: contents of valid files to copy pieces from.
        draws: source of random numbers.
    """
    if draws.random() < 0.02:
        return draws.randbytes(draws.randrange(200))
    data = bytearray(content)
    for _ in range(draws.randint(1, 4)):
        start = draws.randrange(len(data) + 1)
        stop = min(len(data), start + int(draws.expovariate(0.1)))
        match draws.randrange(8):
            case 0:
                data[start:stop] = b""
            case 1:
                data[start:start] = draws.choice(PARTS)
            case 2:
                data[start:stop] = draws.choice(PARTS)
            case 3:
                del data[start:]
            case 4:
                for place in range(start, min(stop, start + 3)):
                    data[place] ^= 1 << draws.randrange(8)
            case 5:
                data[start:stop] = draws.randbytes(stop - start)
            case 6:
                data[start:start] = data[start:stop] * draws.randint(1, 3)
            case 7:
                other_file = draws.choice(other_files)
                cut = draws.randrange(len(other_file) + 1)
                data[start:stop] = other_file[cut : cut + draws.randrange(40)]
    return bytes(data)


class Fuzzed(NamedTuple):
    """A reader and the files for it.

    Attributes:
        name: file to damage.
        sound: valid contents for this file.
        read: function of the file's path. It may return anything, and raise InputError.
        others: other files in the directory, by name.
    """

    name: str
    sound: list[bytes]
    read: Callable[[str], object]
    others: dict[str, bytes] = {}  # noqa: RUF012 - a NamedTuple's default is never changed


TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "dog", "é"]
TABLE = b"g1\t1\t\tthe dog sees .\ng2\t0\t*\ta cat \xc3\xa9 \n\ng3\t1\t\tit rains, today\n"
OWN_TABLE = b"id\ttext\tlabel\n1\tthe dog sees\tpos\n2\ta cat\tneg\n3\tit rains\tpos\n"
OWN_CSV = b'id,text,label\n1,"the dog, it ""sees""",pos\n2,"a\ncat",neg\n3,it rains,2.5\n'
OWN_JSON = b"""{"text": "the dog", "label": ["a", "b"], "id": 1}
{"text": "a cat", "label": [], "id": "x"}
{"text": "b", "label": "c"}
"""
COLUMNS = b"-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP I-NP I-ORG\nBlack NNP I-NP O\n"
TAGGED = b'{"words": ["EU", "rejects"], "tags": ["B-ORG", "O"]}\n{"words": ["Peter"], "tags": ["B-ORG"]}\n'
DOCCANO = (
    b'{"id": 1, "text": "EU rejects", "label": [[0, 2, "ORG"]], "relations": []}\n{"text": "Peter", "label": []}\n'
)
PRODIGY = (
    b'{"text": "EU", "tokens": [{"start": 0, "end": 2, "id": 0}], "spans": [{"start": 0, "end": 2, "label": "B"}]}\n'
)
LABEL_IDS = (
    b'{"text": "EU", "annotations": [{"label": 1, "start_offset": 0, "end_offset": 2, "user": 1}]}\n{"text": "a"}\n'
)
DATATURKS = b'{"content": "EU", "annotation": [{"label": ["B"], "points": [{"start": 0, "end": 1, "text": "EU"}]}]}\n'
PAIRS = b'{"classes": ["B"],\n"annotations": [null, ["EU", {"entities": [[0, 2, "B"]]}]]}'
REGION = {"from_name": "a", "to_name": "b", "type": "labels", "value": {"start": 0, "end": 2, "labels": ["ORG"]}}
SMALL_TASKS = [{"id": 1, "text": "EU rejects", "ner": [REGION["value"]], "annotation_id": 3, "lead_time": 1.5}]
TASKS = [{"id": 1, "data": {"text": "EU rejects"}, "annotations": [{"result": [REGION], "ground_truth": True}]}]
STANDOFF = b"T1\tORG 0 2\tEU\nR1\tin Arg1:T1 Arg2:T1\nT2\tX 3 5;6 10\tre ects\n"
CONTEXT = "The dog sees a cat in Rome."
ENTRIES = [
    {"id": "1", "question": "who?", "answers": [{"text": "dog", "answer_start": 4}], "is_impossible": False},
    {"id": "2", "question": "what?", "answers": [{"text": "a cat", "answer_start": 13}], "is_impossible": False},
    {"id": "3", "question": "why?", "answers": [], "is_impossible": True, "plausible_answers": []},
]
QUESTIONS = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": CONTEXT, "qas": ENTRIES}]}]}
LINES = b'{"question": "who?", "context": "The dog sees."}\n{"id": 7, "question": "where?", "context": "In Rome."}\n'
VOCABULARY = "".join(f"{token}\n" for token in TOKENS).encode()
CONFIG = {
    "vocab_size": 9,
    "hidden_size": 4,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "model_type": "bert",
}
MODULE_CONFIG = b'{"hub_module": "encoder", "hidden_size": 4, "vocab_size": 9}'
TOKENIZER = {
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {token: n for n, token in enumerate(TOKENS)}},
    "normalizer": {"type": "BertNormalizer", "lowercase": True},
    "added_tokens": [{"id": 0, "content": "[PAD]"}],
}
TEXT = b"the dog sees a cat .\nit rains .\n\n\xc3\xa9 dog dog\na a b\n"
MANIFEST = {"command": "bert-classify", "config": {"vocab_size": 9}, "labels": ["0", "1"], "random_seed": 7}
OWNED = {"files": ["run.json", "vocab.txt", "checkpoint"]}
REPORT = {"total_seconds": 1.5, "files": ["test_results.tsv"], "eval": {"accuracy": 0.5}}
FLAGS = b"--task_name=cola\n--max_seq_length=32\n--data_dir=/data\n--do_lower_case=true\n--problem_type=multi_label\n"
STATE = b'model_checkpoint_path: "model.ckpt-20"\nall_model_checkpoint_paths: "model.ckpt-10"\n'
TENSORS = {
    "bert/embeddings/word_embeddings": np.arange(36, dtype=np.float32).reshape(9, 4),
    "bert/pooler/dense/bias": np.ones(4, np.float32),
    "global_step": np.array(20, np.int64),
}
HUGGING_FACE_TENSORS = {
    "bert.pooler.dense.weight": np.ones((4, 4), np.float32),
    "classifier.bias": np.ones(2, np.float16),
    "x": np.ones(3, np.int64),
}
INDEX = {"weight_map": {name: f"model-{number}.safetensors" for number, name in enumerate(HUGGING_FACE_TENSORS)}}
MODULE_FILES = {"saved_model.pb": b"x" * 40, "variables/variables.index": b"", "assets/vocab.txt": VOCABULARY}
RECORD_LENGTHS = {
    "input_ids": 8,
    "input_mask": 8,
    "segment_ids": 8,
    "masked_lm_positions": 2,
    "masked_lm_ids": 2,
    "next_sentence_labels": 1,
}


def _json(values: dict) -> bytes:
    return json.dumps(values, indent=1).encode()


def _each(values) -> list:
    return list(values)


def _table(path: str) -> None:
    tables.read_rows(Source(path))
    for labels in (None, ("0", "1")):
        find_labels("cola", read_examples("cola", "train", Source(path), labels).examples)


def _own(path: str) -> None:
    _each(open_table(path, "train_file").rows())
    file = user_tables.read_user_table(open_table(path, "train_file"), "train", ColumnRules())
    role = FileRole(decides_names=True, keeps_rows=False, skips_unlabeled=False)
    user_tables.make_examples(file, read_labels(file.label_cells(None), None, None, role).rows)


def _tags(path: str) -> None:
    file, _ = bio_tags.convert_to_bio(read_token_file(Source(path)))
    bio_tags.check_known_tags(file, ("O", "B-ORG", "I-ORG"))


def _annotations(path: str) -> None:
    file = read_annotations(Source(path))
    if file:
        tags = [("B-X",) * len(example.words) for example in file.examples]
        scores = [
            (np.ones(len(sentence_tags), np.float32), np.ones((len(sentence_tags), 1), np.float32))
            for sentence_tags in tags
        ]
        predictions = [TagPrediction(sentence_tags, *score) for sentence_tags, score in zip(tags, scores, strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            write_annotations(folder, file, predictions)


def _squad(path: str) -> None:
    squad.read_squad_examples(QuestionSource(path))
    squad.read_gold_answers(QuestionSource(path))
    read_training_examples(QuestionSource(path), True, None)


def _squad_lines(path: str) -> None:
    _each(QuestionLines(Source(path, None).lines(), path))


def _texts(path: str) -> None:
    _each(read_text_lines(Source(path)))


def _config(path: str) -> None:
    if read_module_config(path) is None:
        read_config(path)


def _records(path: str) -> None:
    if is_record_file(path):
        _each(read_records(path))
        with RecordSource([path], 8, 2, 9, 0) as source:
            source.read(np.arange(len(source)))


def _corpus(path: str) -> None:
    tokenizer = FullTokenizer(read_vocabulary(f"{pathlib.Path(path).parent}/vocab.txt"), True)
    for block in read_blocks([path], 16):
        tokenize_block(block, tokenizer, "H", True)


def _folder(path: str) -> None:
    folder = str(pathlib.Path(path).parent)
    directory = RunDirectory(folder)
    directory.owned.names()
    _ = directory.manifest, directory.report
    newest_undamaged(folder)
    read_remembered(ClassifySettings, folder, ())
    find_checkpoint_to_resume(directory, MANIFEST, False, None)


def _shards(folder: pathlib.Path) -> Fuzzed:
    inputs = [str(folder / name) for name in ("a.txt", "b.txt")]
    for path in inputs:
        pathlib.Path(path).write_bytes(TEXT)

    def read(path: str) -> None:
        values = {"input_file": ",".join(inputs), "shard": None, "distribution_strategy": "auto"}
        outputs, model = [path.removesuffix(LISTING)], str(folder / "model.ckpt-20.index")
        ShardPlan(values, ("input_file", "output_file"), outputs, {"gelu": "auto"}, model).find_unfinished()

    sound = _json({"inputs": inputs, "flags": {"gelu": "auto"}})
    return Fuzzed(f"x{LISTING}", [sound], read, {"x-00000-of-00002": b""})


def _archive(path: str) -> None:
    find_module(path, "hub_module")


def _tensors(reader) -> None:
    for name in reader.shapes:
        reader.read(name)


def _checkpoint(path: str) -> None:
    prefix = path.removesuffix(".index").removesuffix(".data-00000-of-00001")
    newest_undamaged(str(pathlib.Path(path).parent), to_train=True)
    find_checkpoint(prefix)
    _tensors(Tf1Reader(prefix))


def _safetensors(path: str) -> None:
    reader = HuggingFaceReader(str(pathlib.Path(path).parent))
    _tensors(reader)
    reader.check_tied()


def _archive_bytes() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in {
            "saved_model.pb": b"x" * 40,
            "variables/variables.index": b"",
            "assets/vocab.txt": VOCABULARY,
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return held.getvalue()


def _record_bytes() -> list[bytes]:
    columns = {name: np.ones((3, length), np.int64) for name, length in RECORD_LENGTHS.items()}
    return encode_examples(columns | {"masked_lm_weights": np.ones((3, 2), np.float32)})


def _h5_bytes(folder: pathlib.Path) -> bytes:
    path = folder / "sound.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("layers/pooler/vars")
        group.attrs["name"] = "bert_pooler_dense"
        group.create_dataset("0", data=np.ones((4, 4), np.float32))
        group.create_dataset("1", data=np.ones(4, np.float32), chunks=(2,), compression="gzip")
    return path.read_bytes()


def _tf_model_bytes(folder: pathlib.Path) -> bytes:
    path = folder / "tf_model.h5"
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"bert"]
        file["bert/tf_bert_model/bert/pooler/dense/kernel:0"] = np.ones((4, 4), np.float32)
        file["bert/tf_bert_model/bert/encoder/layer_._0/output/dense/bias:0"] = np.ones(4, np.float32)
    return path.read_bytes()


def record() -> bytes:
    """Return a serialized tf.train.Example for pre-training."""
    return _record_bytes()[0]


def fuzzed(folder: pathlib.Path) -> dict[str, Fuzzed]:
    """Return all readers by name.

    Args:
        folder: directory in which valid files are made.
    """
    write_checkpoint(folder / "model.ckpt-20", TENSORS)
    index, data = ((folder / f"model.ckpt-20.{ending}").read_bytes() for ending in ("index", "data-00000-of-00001"))
    checkpoint = {"model.ckpt-20.index": index, "model.ckpt-20.data-00000-of-00001": data}
    shards = {
        name: safetensors.numpy.save({key: HUGGING_FACE_TENSORS[key]}) for key, name in INDEX["weight_map"].items()
    }
    run = {
        "run.json": _json(MANIFEST | OWNED),
        "run_report.json": _json(REPORT),
        "flags.txt": FLAGS,
        "checkpoint": STATE,
    }
    return {
        "tsv": Fuzzed("train.tsv", [TABLE], _table),
        "own tsv": Fuzzed("own.tsv", [OWN_TABLE], _own),
        "own csv": Fuzzed("own.csv", [OWN_CSV], _own),
        "own jsonl": Fuzzed("own.jsonl", [OWN_JSON], _own),
        "own csv.gz": Fuzzed("own.csv.gz", [gzip.compress(OWN_CSV)], _own),
        "conll": Fuzzed("train.txt", [COLUMNS, COLUMNS.replace(b" ", b"\t")], _tags),
        "tagging jsonl": Fuzzed("train.jsonl", [TAGGED], _tags),
        "annotations": Fuzzed("train.jsonl", [DOCCANO, PRODIGY, LABEL_IDS, DATATURKS], _annotations),
        "annotations of Label Studio": Fuzzed("train.json", [_json(TASKS), _json(SMALL_TASKS), PAIRS], _annotations),
        "annotations of brat": Fuzzed("d.ann", [STANDOFF], _annotations, {"d.txt": b"EU re\nects it"}),
        "squad": Fuzzed("train.json", [_json(QUESTIONS)], _squad),
        "squad lines": Fuzzed("lines.jsonl", [LINES], _squad_lines),
        "texts": Fuzzed("texts.txt", [TEXT], _texts),
        "vocabulary": Fuzzed("vocab.txt", [VOCABULARY], read_vocabulary),
        "config": Fuzzed("bert_config.json", [_json(CONFIG), MODULE_CONFIG], _config),
        "tokenizer.json": Fuzzed("tokenizer.json", [_json(TOKENIZER)], read_tokenizer_json),
        "tfrecord": Fuzzed("data.tfrecord", [pack_records(_record_bytes())], _records),
        "corpus": Fuzzed("text.txt", [TEXT], _corpus, {"vocab.txt": VOCABULARY}),
        "corpus.gz": Fuzzed("text.gz", [gzip.compress(TEXT)], _corpus, {"vocab.txt": VOCABULARY}),
        **{f"run folder: {name}": Fuzzed(name, [sound], _folder, run | checkpoint) for name, sound in run.items()},
        "shards": _shards(folder),
        "archive": Fuzzed("module.tar.gz", [_archive_bytes()], _archive),
        "checkpoint index": Fuzzed("model.ckpt-20.index", [index], _checkpoint, checkpoint),
        "checkpoint data": Fuzzed("model.ckpt-20.data-00000-of-00001", [data], _checkpoint, checkpoint),
        "safetensors": Fuzzed("model.safetensors", [safetensors.numpy.save(HUGGING_FACE_TENSORS)], _safetensors),
        "safetensors index": Fuzzed("model.safetensors.index.json", [_json(INDEX)], _safetensors, shards),
        "tf_model.h5": Fuzzed("tf_model.h5", [_tf_model_bytes(folder)], _safetensors),
        "hdf5": Fuzzed("model.weights.h5", [_h5_bytes(folder)], lambda path: _tensors(KerasReader(path))),
    }
