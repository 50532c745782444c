"""bert-export: question answering as a SavedModel gives the answers, offsets and scores of bert-squad."""

import json
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bert_cli import QuestionAnswerer
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.export_model import main
from tests.commands.conftest import WORDS
from tests.commands.test_export_vectors import id_inputs

ALONE = """
import json, sys
import tensorflow as tf, tensorflow_text
pairs = json.loads(sys.argv[2])
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
outputs = serve(question=tf.constant([q for q, _ in pairs]), context=tf.constant([c for _, c in pairs]))
values = {name: x.numpy().tolist() for name, x in outputs.items() if name != "answer"}
print(json.dumps(values | {"answer": [text.decode() for text in outputs["answer"].numpy()]}))
assert not [name for name in sys.modules if name.startswith("bert_cli")]
"""
LONG = " ".join(["the old dog , sees the (cat) near a river .", "My teacher's  bird sings\tin a house !"] * 12)
QUESTIONS = [
    ("who sees a cat ?", "the old farmer's dog , near the (river) sees a cat ."),
    ("who sings ?", LONG),
    ("what is in the house ?", f"{LONG} farmer {LONG}"),
    ("who ?", "Öl-Fisch …  caté,\u00a0dog.\u202fThe\u200b bird's 中a中 ῼ \u3000 horse aa aab"),
    ("", "bird"),
    ("who", ""),
    ("who", " \t "),
    ("the dog sees " * 40, "a cat sees the dog . " * 9),
    ("Who?", "x" * 300 + " cat " + "y" * 30),
]
_RANDOM = random.Random(0)
_WORDS = [*WORDS, "aa", "(dog)", "dogs,", "Fish", "caf\u00e9", "\u4e2d", "\u03a3\u03a3", "\u2026", "x\u0301y", "\u2028"]
QUESTIONS += [
    (
        " ".join(_RANDOM.choices(_WORDS, k=5)),
        "".join(
            word + _RANDOM.choice((" ", "  ", "\n", " \u202f", "\u00a0")) for word in _RANDOM.choices(_WORDS, k=length)
        ),
    )
    for length in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)
]


def export(folder, out):
    assert main([f"--init_checkpoint={folder}", f"--export_dir={out}"]) == 0
    return out


def run_alone(folder, pairs):
    command = [sys.executable, "-c", ALONE, str(folder), json.dumps(pairs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check_answers(outputs, folder, pairs):
    examples = [SquadExample(str(n), question, split_context(text)) for n, (question, text) in enumerate(pairs)]
    predictions, _ = QuestionAnswerer.load(str(folder), precision="float32")._answerer.answer(examples)
    for row, prediction in enumerate(predictions):
        span = prediction.span or (-1, -1)
        text = prediction.text if prediction.span else ""
        assert (outputs["answer"][row], outputs["start"][row], outputs["end"][row]) == (text, *span), pairs[row]
        best = next((entry for entry in prediction.nbest if entry.span), None)
        score = best.start_logit + best.end_logit if best else 0.0
        assert outputs["score"][row] == pytest.approx(score, abs=1e-5)
        if prediction.null_odds is not None and best:
            assert outputs["null_score"][row] - outputs["score"][row] == pytest.approx(prediction.null_odds, abs=2e-5)


def test_answers_with_tensorflow_alone(answering, tmp_path):
    out = export(answering, tmp_path / "out")
    outputs = run_alone(out, QUESTIONS)
    assert outputs.keys() == {"answer", "start", "end", "score", "null_score"}
    check_answers(outputs, answering, QUESTIONS)


@pytest.mark.parametrize("flags", [{"doc_stride": "7"}, {"doc_stride": "200", "max_query_length": "5"}])
def test_an_answer_to_each_question_in_other_windows(answering, tmp_path, flags):
    import tensorflow as tf

    folder = tmp_path / "model"
    shutil.copytree(answering, folder)
    changed = {**flags, "version_2_with_negative": "false"}
    lines = (folder / "flags.txt").read_text("utf-8").splitlines()
    kept = [line for line in lines if line.partition("=")[0].removeprefix("--") not in changed]
    kept += [f"--{name}={value}" for name, value in changed.items()]
    (folder / "flags.txt").write_text("\n".join([*kept, ""]), "utf-8")
    model = tf.saved_model.load(str(export(folder, tmp_path / "out")))
    questions, contexts = (tf.constant(texts) for texts in zip(*QUESTIONS, strict=True))
    tensors = model.signatures["serving_default"](question=questions, context=contexts)
    outputs = {name: values.numpy().tolist() for name, values in tensors.items()}
    outputs["answer"] = [text.decode() for text in outputs["answer"]]
    assert outputs.keys() == {"answer", "start", "end", "score"}
    assert len({*outputs["answer"]}) > 4
    check_answers(outputs, folder, QUESTIONS)
    logits = model.signatures["token_ids"](**{name: tf.constant(x) for name, x in id_inputs(folder, ["a dog"]).items()})
    assert np.isfinite(logits["start_logits"].numpy()).all()
