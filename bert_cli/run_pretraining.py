"""Pre-train a BERT as Google's run_pretraining.py does, and evaluate it.

It trains on plain text (one sentence per line, empty lines between documents) with new masks and pairs in each pass, or
on TFRecord files of bert-create-pretraining-data; the kind of file is detected. It writes into output_dir:

    model.ckpt-N      the weights after N steps, in Google's format
    eval_results.txt  accuracy and loss of masked words and next sentences
    run_report.json   all figures of the last run
    report.html       a page to look at; bert-report makes it again
    history.jsonl     losses and metrics over the steps
    events.out.tfevents.history  with --tensorboard, the same for TensorBoard
    eval_examples.jsonl  rows of the evaluation, for that page
    vocab.txt, bert_config.json, flags.txt, run.json, checkpoint

so that `bert-classify --init_checkpoint=pretrained` and `bert-fill-mask --init_checkpoint=pretrained` need nothing
else. bert-build-vocab makes a vocabulary from your own text.

Examples:

    bert-pretrain --input_file=data/pretraining/corpus.txt --do_train --do_eval \\
      --output_dir=bert_output/pretrained \\
      --vocab_file=bert_cli/builtin/vocab.txt \\
      --bert_config_file=data/pretraining/bert_config.json --max_seq_length=64 \\
      --max_predictions_per_seq=10 --learning_rate=1e-3 --num_train_steps=3000 \\
      --num_warmup_steps=300
    bert-pretrain --input_file=data/pretraining/corpus.txt --do_eval \\
      --output_dir=bert_output/pretrained
"""

import os

from bert_cli.base.names import FLAGS
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.command import Command
from bert_cli.flags.option import replace_values
from bert_cli.flags.run_flags import read_flags
from bert_cli.opening.checkpoints import model_to_use
from bert_cli.opening.completion import complete_settings
from bert_cli.runs import driver
from bert_cli.runs.tasks.pretraining import PretrainingTask, absolute_patterns
from bert_cli.settings.pretraining import PretrainSettings


def check(settings: PretrainSettings, given_names: frozenset[str]) -> PretrainSettings:
    """Return the settings, completed from a training run's flags.txt; refuse too short sequences."""
    # Instances have the length of their TFRecords, or that which a training packs texts into.
    settings = complete_settings(settings, given_names, has_own_length=False)
    if not settings.phases.do_train and "eval_share" not in given_names:
        settings = _with_trained_share(settings)
    check_max_seq_length(settings.encoding.max_seq_length, pairs=not settings.task.no_nsp)
    return settings


def _with_trained_share(settings: PretrainSettings) -> PretrainSettings:
    """Return the settings for an evaluation alone, with the share of documents that it holds out.

    It uses held-out documents of the training text, but all documents of another text.
    """
    saved = read_flags(
        os.path.join(model_to_use(settings.model, settings.hub, settings.phases.output_dir).folder, FLAGS)
    )
    is_same_text = saved.get("input_file") == absolute_patterns(settings.files.input_file)
    if is_same_text and "eval_file" not in saved:
        return settings
    return replace_values(settings, {"eval_share": 0.0})


def run(settings: PretrainSettings) -> dict:
    """Run the command, and return the report that is also in run_report.json.

    The phases are methods of PretrainingTask, which driver.run_phases calls: open the model's files
    and the data (`.load`, `.read`), plan (`.plan`), train or resume (`.make_model` names the heads, and
    their modules have the loss), evaluate (`.evaluate`), report.
    """
    return driver.run_phases(PretrainingTask, settings)


main = Command("bert-pretrain", __doc__, PretrainSettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
