"""bert-tag with repeated folds and seeds: mean probabilities choose the tags."""

import numpy as np

from bert_cli import Tagger
from bert_cli.examples.text_lines import make_text_example
from tests.commands import tag_run
from tests.commands.test_cross_validation import read
from tests.snapshots import check_message

WORDS = [words for words, _ in tag_run.SPLITS["test"]]


def own_mean(folders, sentences, tags):
    """Return each word's tag with the largest mean probability over the models in `folders`."""
    means = []
    for folder in folders:
        tagger = Tagger.load(folder, precision="float32")._tagger
        examples = [make_text_example(" ".join(words), tagger.tokenizer) for words in sentences]
        means.append([np.exp(prediction.log_probabilities.astype(float)) for prediction in tagger.tag(examples)])
    labels = np.array(tags)
    return [labels[np.mean(arrays, axis=0).argmax(axis=1)].tolist() for arrays in zip(*means, strict=True)]


def read_predictions(path):
    sentences = path.read_text("utf-8").strip().split("\n\n")
    return [[line.split()[-1] for line in sentence.split("\n")] for sentence in sentences]


def test_repeated_folds_and_their_mean(tagger_once, tag, tmp_path, run_folder):
    out = tmp_path / "out"
    flags = [flag for flag in tagger_once[1] if flag != "--do_eval"]
    flags += ["--num_train_epochs=2", "--cross_validation=2", "--cross_validation_repeats=2", "--noreport"]
    done = tag(*flags, "--average_predictions", f"--output_dir={out}")
    assert done.code == 0, done.err
    names = [f"repeat-{repeat}-fold-{fold}" for repeat in (1, 2) for fold in (1, 2)]
    folders = [out / name for name in names]
    assert run_folder(out).report()["averaged_runs"] == list(map(str, folders))
    assert read_predictions(out / "test_predictions.txt") == own_mean(folders, WORDS, tag_run.LABELS)
    rows = read(out / "out_of_fold.tsv")
    sentences = [words for words, _ in tag_run.SPLITS["train"]]
    assert rows["text"].tolist() == [" ".join(words) for words in sentences]
    assert rows["fold_1"].tolist() != rows["fold_2"].tolist()
    # Every row has been predicted by one model per repeat, for example the first one.
    models = [out / f"repeat-{repeat}-fold-{rows[f'fold_{repeat}'][0]}" for repeat in (1, 2)]
    assert rows["predicted"][0].split() == own_mean(models, sentences[:1], tag_run.LABELS)[0]
    check_message(next(line for line in done.lines if "seeds" in line), "the seeds 12345, 12346")


def test_mean_over_seeds_is_evaluated(tagger_once, tag, tmp_path, run_folder):
    out = tmp_path / "out"
    flags = [*tagger_once[1], "--num_train_epochs=2", "--num_runs=2", "--noreport"]
    done = tag(*flags, "--average_predictions", f"--output_dir={out}")
    assert done.code == 0, done.err
    expected = own_mean([out / "run-1", out / "run-2"], WORDS, tag_run.LABELS)
    assert read_predictions(out / "test_predictions.txt") == expected
    assert (out / "eval_results.txt").is_file()
    *_, mean, following = done.err.splitlines()
    assert "of the mean prediction of 2 runs" in mean
    assert following == f"next: bert-tag --output_dir={out} --text 'a text'"


def test_a_missing_test_file_is_refused_before_the_training(tagger_once, tag, tmp_path):
    flags = [*tagger_once[1], "--num_runs=2", "--average_predictions", "--test_file=missing.txt"]
    done = tag(*flags, f"--output_dir={tmp_path / 'out'}")
    done.assert_refused("missing.txt")
    assert not (tmp_path / "out").exists()
