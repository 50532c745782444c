"""Fine-tune a BERT to find answers in texts, evaluate it, and answer questions, as Google's run_squad.py does.

    bert-squad --train_file=data/squad/train.json --predict_file=data/squad/dev.json --output_dir=squad_output \\
      --do_train --do_predict --do_eval --learning_rate=5e-4 --num_train_epochs=6 --skip_padding

writes into output_dir: model.ckpt-N (Google's variable names), predictions.json, nbest_predictions.json, with
--version_2_with_negative null_odds.json, and eval_results.txt: exact match and F1 by the official definition, 77 and 82
with the built-in model. The folder is enough for later runs:

    bert-squad --output_dir=squad_output --question="Who found the key?" --context="On Monday Anna found a key."

prints the answer. --input_file=questions.jsonl answers a question a line, --score_only scores a file of predictions.
"""

import dataclasses
import json
import logging
import os
import time

from bert_cli.base import files
from bert_cli.base.names import ANSWERS, EVAL_RESULTS, NBEST_ANSWERS, NULL_ODDS
from bert_cli.examples.squad import (
    SquadExample,
    describe_examples,
    read_examples,
    read_gold_answers,
    read_training_examples,
)
from bert_cli.features.squad import SquadFeatures, format_features, squad_features
from bert_cli.features.stream import check_steps
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.outputs.progress import Progress
from bert_cli.outputs.squad import Decoder, Prediction, write_nbest_predictions, write_null_odds, write_predictions
from bert_cli.outputs.squad_scores import read_null_odds, read_predictions, scores_v1, scores_v2
from bert_cli.runs import folder as run_folder
from bert_cli.runs import questions as answer_questions
from bert_cli.runs import sources
from bert_cli.runs.squad_settings import Settings, answer_rules, define_flags, settings_from_flags, trained_checkpoint
from bert_cli.settings.flags import run_command
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.training.host import prepare_host

LOG = logging.getLogger("bert_cli")
# Settings that change the result of training.
_DECISIVE = (
    "max_seq_length", "doc_stride", "max_query_length", "version_2_with_negative", "train_batch_size", "learning_rate",
    "num_train_epochs", "warmup_proportion", "bias_correction", "steps_from_examples", "skip_padding", "random_seed",
    "hub_trainable",
)  # fmt: skip
_PATHS = (
    "train_file", "predict_file", "output_dir", "vocab_file", "bert_config_file", "init_checkpoint", "hub_module",
    "hub_preprocess",
)  # fmt: skip
_RESULTS = (ANSWERS, NBEST_ANSWERS, NULL_ODDS)


def read_windows(
    settings: Settings, examples: list[SquadExample], tokenizer: FullTokenizer, name: str, is_training: bool
) -> SquadFeatures:
    """The windows of some examples, which are logged with what was cut."""
    features = squad_features(
        examples, tokenizer, settings.max_seq_length, settings.doc_stride, settings.max_query_length, is_training
    )
    LOG.info("%s: %s in %d windows", name, describe_examples(examples), len(features))
    shown = 20 if settings.verbose_logging else 1
    for line in format_features(features, examples, tokenizer, settings.max_seq_length, shown):
        LOG.info(line)
    if features.num_cut_questions:
        LOG.info("%s: %d questions were cut to %d tokens", name, features.num_cut_questions, settings.max_query_length)
    return features


def score(settings: Settings, gold: dict, answers: dict[str, str], null_odds: dict[str, float] | None) -> dict:
    """Exact match and F1 under the rules of 1.1 or, with --version_2_with_negative, of 2.0."""
    return scores_v2(gold, answers, null_odds) if settings.version_2_with_negative else scores_v1(gold, answers)


def score_file(settings: Settings) -> dict:
    """Score predictions_file, print the scores as JSON, and write them where there is an output_dir."""
    for flag in ("predict_file", "predictions_file", "null_odds_file"):
        if getattr(settings, flag):
            files.check_readable(getattr(settings, flag), flag)
    if settings.output_dir:
        files.check_can_write(settings.output_dir, "output_dir")
    odds = read_null_odds(settings.null_odds_file) if settings.null_odds_file else None
    gold, answers = read_gold_answers(settings.predict_file), read_predictions(settings.predictions_file)
    scores = score(settings, gold, answers, odds)
    if scores["missing"]:
        LOG.warning("warning: %d of %d questions have no prediction", scores["missing"], scores["total"])
    print(json.dumps(scores, indent=2), flush=True)
    if settings.output_dir:
        files.make_directory(settings.output_dir)
        write_eval_results(os.path.join(settings.output_dir, EVAL_RESULTS), scores)
    return scores


def training_manifest(settings: Settings, features: SquadFeatures, model: sources.OpenedModel) -> dict:
    """All that decides the result of training: a run with another manifest is another run."""
    sequences = features.sequences
    decided = {name: getattr(settings, name) for name in _DECISIVE} | {
        "do_lower_case": model.tokenizer.do_lower_case,
        "training_data": run_folder.digest(
            sequences.token_ids, sequences.offsets, features.start_positions, features.end_positions
        ),
        "train_windows": len(features),
        "train_examples": features.num_examples,
    }
    return decided | run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)


def flags_to_save(settings: Settings, do_lower_case: bool) -> dict:
    """Flags that repeat a training run from any working directory."""
    values = dataclasses.asdict(settings) | {"do_lower_case": do_lower_case, "overwrite_output_dir": None}
    return values | {name: files.absolute(values[name]) for name in _PATHS}


def run(settings: Settings) -> dict:
    """Do what the settings say; returns the report that is also written to run_report.json, or scores, or an answer."""
    if settings.score_only:
        return score_file(settings)
    began, folder = time.monotonic(), settings.output_dir
    if folder:
        files.check_can_write(folder, "output_dir")
        checkpoint = sources.choose_checkpoint(settings)
    else:
        checkpoint = trained_checkpoint(settings.init_checkpoint, folder)
    model = sources.open_model(settings, checkpoint, settings.max_seq_length, settings.hub_preprocess)
    tokenizer = model.tokenizer
    rules = answer_rules(settings)
    if settings.question or settings.input_file:
        return answer_questions.run(settings, model.config, tokenizer, checkpoint, rules)
    plan = None
    if settings.do_train:
        files.check_readable(settings.train_file, "train_file")
        version_2, several = settings.version_2_with_negative, settings.multiple_answers
        examples = read_training_examples(settings.train_file, version_2, several).examples
        train = read_windows(settings, examples, tokenizer, "train", is_training=True)
        count = len(examples) if settings.steps_from_examples and len(train) else len(train)
        steps = check_steps(count, settings.train_batch_size, settings.num_train_epochs)
        manifest = training_manifest(settings, train, model)
        state = run_folder.find_state(folder, manifest, settings.overwrite_output_dir, checkpoint, _RESULTS)
        saved = flags_to_save(settings, tokenizer.do_lower_case)
        plan = run_folder.TrainingPlan(train, steps, manifest, None, saved, state, _RESULTS)
    if settings.do_predict or settings.do_eval:
        files.check_readable(settings.predict_file, "predict_file")
        gold = read_gold_answers(settings.predict_file) if settings.do_eval else None
        if gold:
            score(settings, gold, {}, None)  # what cannot be scored is said before the work
        questions = read_examples(settings.predict_file)
        windows = read_windows(settings, questions, tokenizer, "predict", is_training=False)
    results = (EVAL_RESULTS,) * settings.do_eval + _RESULTS * settings.do_predict
    if not settings.do_train:
        run_folder.check_results(folder, results)

    # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
    prepare_host()
    from bert_cli.runs.squad import SquadSession

    session = SquadSession(model.config, settings)
    report = {"precision": session.precision} | run_folder.train_or_load(session, folder, model, plan)
    files.make_directory(folder)
    if settings.do_predict or settings.do_eval:
        decoder = Decoder(windows, rules.n_best_size)
        report |= compute_answers(session, decoder, windows)
        predictions = decoder.finish(questions, tokenizer, rules)
        if session.is_chief and settings.do_predict:
            write_answers(folder, predictions, settings.version_2_with_negative)
        if settings.do_eval:
            report |= evaluate(session, settings, gold, predictions, report["global_step"])
    report["total_seconds"] = round(time.monotonic() - began, 3)
    if session.is_chief:
        run_folder.write_report(folder, report, results)
    return report


def compute_answers(session, decoder: Decoder, windows: SquadFeatures) -> dict:
    """Fill the decoder; returns the rate, in windows."""
    with Progress("predicting", len(windows), every=max(1, len(windows) // 4), unit="windows") as progress:
        began = time.monotonic()
        session.fill(decoder, windows, lambda count: progress.update(progress.position + count))
        seconds = time.monotonic() - began
    return {"predict_windows_per_second": round(len(windows) / max(seconds, 1e-9), 2)}


def write_answers(folder: str, predictions: list[Prediction], version_2_with_negative: bool) -> None:
    """Write the files of the answers, and say for which questions nothing could be one."""
    paths = [os.path.join(folder, name) for name in _RESULTS]
    write_predictions(paths[0], predictions)
    write_nbest_predictions(paths[1], predictions)
    if version_2_with_negative:
        write_null_odds(paths[2], predictions)
    else:
        files.remove(paths[2])  # odds of an earlier run would not belong to these predictions
    lost = [prediction.qas_id for prediction in predictions if not prediction.found]
    if lost:
        LOG.warning("warning: nothing could be an answer to %d question(s): %s", len(lost), ", ".join(lost[:5]))
    LOG.info("wrote %s and %s: %d predictions", paths[0], paths[1], len(predictions))


def evaluate(session, settings: Settings, gold: dict, predictions: list[Prediction], global_step: int) -> dict:
    """Write eval_results.txt and log it; returns the same figures."""
    answers = {prediction.qas_id: prediction.text for prediction in predictions}
    odds = None
    if settings.version_2_with_negative:
        odds = {prediction.qas_id: prediction.null_odds for prediction in predictions}
    scores = score(settings, gold, answers, odds) | {"global_step": global_step}
    if session.is_chief:
        write_eval_results(os.path.join(settings.output_dir, EVAL_RESULTS), scores)
    for line in format_eval_results(scores):
        LOG.info(line)
    return {"eval": scores}


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-squad", __doc__, define_flags, lambda values, given: run(settings_from_flags(values, given)), arguments
    )


if __name__ == "__main__":
    raise SystemExit(main())
