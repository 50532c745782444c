"""Models in workers of Spark, Ray and Beam: load_once, and docs/clusters.md on real clusters."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bert_cli import Classifier
from bert_cli.api.once import load_once
from bert_cli.base.errors import InputError
from tests.readme_blocks import PAGES, ROOT, blocks
from tests.rows import write_rows

RECIPES = [block for block in blocks("python", pages={"docs/clusters.md": PAGES["docs/clusters.md"]}) if block.engine]
RAY_CLUSTER = """
import os, runpy
import ray
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
os.environ["RAY_ADDRESS"] = cluster.address
try:
    runpy.run_path("recipe.py", run_name="__main__")
    assert len(ray.nodes()) == 2
finally:
    ray.shutdown()
    cluster.shutdown()
"""
# The environment provides the master or the address for recipes that read it from there.
CLUSTERS = {
    "pyspark": (["recipe.py"], {"PYSPARK_SUBMIT_ARGS": "--master local-cluster[2,1,1024] pyspark-shell"}),
    "ray": (["-c", RAY_CLUSTER], {}),
    "apache_beam": (
        [
            "recipe.py", "--runner=apache_beam.runners.portability.fn_api_runner.FnApiRunner",
            "--direct_running_mode=multi_processing", "--direct_num_workers=2",
        ],
        {},
    ),
}  # fmt: skip


# Prints each thread's result; a separate program, since the threads import TensorFlow first.
THREADS = """
import concurrent.futures, sys
from bert_cli import Classifier, FeatureExtractor, MaskFiller

def fit():
    texts, labels = ["a fine film", "dull"] * 4, ["x", "y"] * 4
    options = {"num_train_epochs": 1, "max_seq_length": 8, "report": False, "precision": "float32"}
    return Classifier.fit(texts, labels, **options).predict(["dull"]).probabilities.tolist()

def predict():
    return Classifier.load(sys.argv[1], engine="tensorflow").predict(["a text ."]).best

def extract():
    return FeatureExtractor.load(None, engine="tensorflow").extract(["a text ."]).shape

def fill():
    return MaskFiller.load(engine="tensorflow").fill("the [MASK] sees .", top_k=1).masks[0][0].token

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    results = [pool.submit(function) for function in (fit, fit, predict, predict, extract, fill)]
    first, second, *others = [result.result() for result in results]
assert first == second, (first, second)
assert others[0] == others[1] and others[2][0] == 1 and others[3], others
"""
FORK = """
import os, sys, threading
from bert_cli import Classifier
from bert_cli.api.once import load_once
from bert_cli.base.errors import InputError

model = load_once(Classifier, sys.argv[1], engine="tensorflow")
model.predict(["a text ."])
uses = [
    lambda: model.predict(["a text ."]),
    lambda: load_once(Classifier, sys.argv[1], engine="tensorflow").predict(["a text ."]),
    lambda: Classifier.load(sys.argv[1], engine="tensorflow"),
    lambda: Classifier.fit(["a", "b"] * 4, ["x", "y"] * 4, num_train_epochs=1),
    lambda: model.explain("a text ."),
    lambda: print(Classifier.load(sys.argv[1], engine="onnxruntime").predict(["a text ."]).best),
]
for use in uses:
    child = os.fork()
    if child == 0:
        threading.Timer(30, os._exit, (1,)).start()
        try:
            use()
        except InputError as error:
            print(str(error)[:31])
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
model.predict(["a text ."])
"""


@pytest.mark.slow
def test_threads_load_and_train(trained):
    done = subprocess.run([sys.executable, "-c", THREADS, trained], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_model_of_tensorflow_is_refused_in_a_forked_child(trained):
    done = subprocess.run([sys.executable, "-c", FORK, trained], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *refused, last = done.stdout.splitlines()
    assert (refused, last[:2]) == (["TensorFlow was started before th"[:31]] * 5, "['")


def test_a_model_is_loaded_once_in_a_process(trained):
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: load_once(Classifier, trained), range(8)))
    assert all(model is models[0] for model in models)
    assert load_once(Classifier, str(trained)) is models[0]
    other_model = load_once(Classifier, trained, labels=["no", "yes"])
    assert other_model is not models[0]
    assert other_model.labels == ("no", "yes")
    assert load_once(Classifier, trained, labels=["no", "yes"]) is other_model
    assert models[0].records(["the dog sees a cat ."])[0]["text"] == "the dog sees a cat ."
    with pytest.raises(InputError, match="nowhere"):
        load_once(Classifier, trained / "nowhere")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda block: block.engine)
def test_a_recipe_gives_the_answers_of_the_command(recipe, trained, classify, tmp_path):
    """Two workers run a program that consists of the printed block."""
    engine = recipe.engine
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: see the extras of setup.py")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17: no java on the PATH")
    lines = [f"the old farmer {verb} bread {'and milk ' * (n % 9)}." for n in range(100) for verb in ("buys", "sees")]
    lines += ['Ünïcødé \u4e2d\u6587 \U0001f600 \\ "quoted" /', "the dog sees a cat ."] * 2
    write_rows(tmp_path / "texts.txt", lines)
    (tmp_path / "bert_output").symlink_to(trained)
    (tmp_path / "recipe.py").write_text(recipe.text, encoding="utf-8")
    arguments, settings = CLUSTERS[engine]
    environment = os.environ | settings | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-6000:]
    answers = []
    for path in pathlib.Path(tmp_path, "answers").glob("[!._]*"):
        answers += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outcome = classify(
        f"--output_dir={trained}", f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={tmp_path / 'own.jsonl'}"
    )
    assert outcome.code == 0, outcome.err
    command_records = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(command_records) == len(answers) == len(lines)
    assert {frozenset(answer) for answer in answers} == {frozenset({"text", "probabilities"})}
    answers.sort(key=lambda answer: answer["text"])
    command_records.sort(key=lambda answer: answer["text"])
    assert [answer["text"] for answer in answers] == [answer["text"] for answer in command_records] == sorted(lines)
    for answer, expected in zip(answers, command_records, strict=True):
        # Other texts in the batch change the last digit in float32.
        assert answer["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def test_a_recipe_for_each_engine():
    assert [block.engine for block in RECIPES] == list(CLUSTERS)
