"""Refusals of command lines that break a flag's rules: one table for all commands.

Each declared rule has a line here. Conflicts with files or models are tested with their commands.
"""

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.__main__ import main as bert
from bert_cli.api.classifier import Classifier
from bert_cli.base.errors import InputError
from bert_cli.flags.option import build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.refusals import check_needs, refusals
from tests.docs_pages import settings_of
from tests.house_figures import HOUSE, MAX_CHECK_LINES, lines_of

ONE = "; leave one of them out"
WHOLE = f"the whole encoder is frozen{ONE}"
ALONE = f"it computes on the CPU, alone{ONE}"
FOR_PREDICTIONS = "it is for predictions; train without it, then predict with it in a second command"
COMPARED = "the runs are compared on held-out data"
ONE_RUN = f"a dry run looks at one run{ONE}"
PHASES = "--do_train, --do_eval or --do_predict"
ENDINGS = "--choice_columns=a,b"
HAS_ENDINGS = f"a row has endings of a text, of which one is right{ONE}"
# Command -> command line -> error message.
REFUSALS = {
    "classify": {
        "": f"nothing to do: give {PHASES}, or --text or --explain, or --input_file; see --help",
        "--do_train --text=a": "--do_train and --text cannot be combined: give one command for each",
        "--do_eval --explain=a": "--do_eval and --explain cannot be combined: give one command for each",
        "--text=a --input_file=-": "--text and --input_file cannot be combined: give one command for each",
        "--do_predict --test_file=a --predict_file=b": f"--test_file and --predict_file cannot be combined{ONE}",
        f"--do_train {ENDINGS} --cross_validation=3": f"--choice_columns and --cross_validation cannot be combined: "
        f"{HAS_ENDINGS}",
        f"--do_train {ENDINGS} --text_b_column=c": f"--choice_columns and --text_b_column cannot be combined: {HAS_ENDINGS}",
        f"--do_train {ENDINGS} --label_separator=;": "--choice_columns and --label_separator cannot be combined: "
        f"{HAS_ENDINGS}",
        f"--do_train {ENDINGS} --labels=0,1": f"--choice_columns and --labels cannot be combined: {HAS_ENDINGS}",
        "--do_train --choice_labels=name": "--choice_labels needs --choice_columns or --task_name=swag",
        "--do_train --problem_type=multiple_choice": "--problem_type=multiple_choice needs --choice_columns or "
        "--task_name=swag",
        "--do_train --dev_split=0.1 --dev_file=a": f"--dev_split and --dev_file cannot be combined{ONE}",
        "--do_train --hub_module=m --init_checkpoint=c": "--hub_module and --init_checkpoint with --do_train cannot be "
        f"combined: both name a model to start from{ONE}",
        "--do_train --hub_trainable=false": "--hub_trainable=false needs --hub_module",
        "--do_train --hub_module=m --hub_trainable=false --freeze_layers=0": "--hub_trainable=false and --freeze_layers "
        f"cannot be combined: {WHOLE}",
        "--do_train --hub_module=m --hub_trainable=false --layerwise_lr_decay=0.9": "--hub_trainable=false and "
        f"--layerwise_lr_decay cannot be combined: {WHOLE}",
        "--do_train --hub_module=m --hub_trainable=false --hidden_dropout_prob=0": "--hub_trainable=false and "
        f"--hidden_dropout_prob cannot be combined: {WHOLE}",
        "--do_train --hub_module=m --hub_trainable=false --attention_dropout_prob=0": "--hub_trainable=false and "
        f"--attention_dropout_prob cannot be combined: {WHOLE}",
        "--do_train --report_model": "--report_model needs --report_to",
        "--do_eval --dry_run": "--dry_run needs --do_train",
        "--do_train --glue_submission --task_name=swag": "--glue_submission needs "
        "--task_name=cola|sst-2|mrpc|sts-b|qqp|mnli|qnli|rte|wnli|ax",
        "--do_train --glue_submission --task_name=cola --predict_file=a": "--glue_submission and --predict_file cannot be "
        f"combined: a submission is about the test file of the task{ONE}",
        "--text=a --positive_label=b": "--positive_label needs --do_train or --do_eval: it is the label whose F1 is "
        "measured",
        "--do_train --calibrate": "--calibrate needs --do_eval or --cross_validation: it is measured on held-out data",
        "--do_eval --abstain_error=2%": "--abstain_error needs --calibrate: its probabilities rank the texts",
        "--explain": "--explain=--text needs --text: it is the text to explain",
        "--explain=a --text=b": f"--explain and --text cannot be combined: it is the text to explain{ONE}",
        "--do_eval --text_b=a": "--text_b needs --text or --explain",
        "--do_eval --line_buffered": "--line_buffered needs --input_file",
        "--do_eval --output_file=a": "--output_file needs --input_file: --output_dir takes the results of --do_predict",
        "--do_eval --train_batch_size=8,16": "a list in --train_batch_size needs --do_train",
        "--do_train --train_batch_size=8,16": f"a list in --train_batch_size needs --do_eval or --cross_validation: "
        f"{COMPARED}",
        "--do_train --do_eval --train_batch_size=8,16 --dry_run": "a list in --train_batch_size and --dry_run cannot be "
        f"combined: {ONE_RUN}",
        "--do_eval --learning_rate=1,2": "a list in --learning_rate needs --do_train",
        "--do_train --learning_rate=1,2": f"a list in --learning_rate needs --do_eval or --cross_validation: {COMPARED}",
        "--do_train --do_eval --learning_rate=1,2 --dry_run": "a list in --learning_rate and --dry_run cannot be combined: "
        f"{ONE_RUN}",
        "--do_eval --num_train_epochs=1,2": "a list in --num_train_epochs needs --do_train",
        "--do_train --num_train_epochs=1,2": "a list in --num_train_epochs needs --do_eval or --cross_validation: "
        f"{COMPARED}",
        "--do_train --do_eval --num_train_epochs=1,2 --dry_run": "a list in --num_train_epochs and --dry_run cannot be "
        f"combined: {ONE_RUN}",
        "--do_eval --distill_from=a": "--distill_from needs --do_train",
        "--do_train --unlabeled_file=a": "--unlabeled_file needs --distill_from",
        "--do_train --distill_temperature=1": "--distill_temperature needs --distill_from",
        "--do_train --distill_share=0.9": "--distill_share needs --distill_from",
        "--do_eval --eval_every=9": "--eval_every needs --do_train",
        "--do_train --eval_every=9": "--eval_every needs --do_eval: it reads the held-out data",
        "--do_train --early_stopping_patience=2": "--early_stopping_patience needs --eval_every: it counts evaluations "
        "during training",
        "--do_train --freeze_encoder --freeze_layers=0": f"--freeze_encoder and --freeze_layers cannot be combined: {WHOLE}",
        "--do_train --freeze_encoder --layerwise_lr_decay=0.9": "--freeze_encoder and --layerwise_lr_decay cannot be "
        f"combined: {WHOLE}",
        "--do_train --freeze_encoder --hidden_dropout_prob=0": "--freeze_encoder and --hidden_dropout_prob cannot be "
        f"combined: {WHOLE}",
        "--do_train --freeze_encoder --attention_dropout_prob=0": "--freeze_encoder and --attention_dropout_prob cannot be "
        f"combined: {WHOLE}",
        "--do_train --optimizer=adam --weight_decay=0.1": "--optimizer=adam and --weight_decay cannot be combined: adam has "
        "none; --optimizer=adamw --bias_correction has",
        "--do_train --recompute=layers --freeze_encoder": "--recompute=layers and --freeze_encoder cannot be combined: an "
        f"encoder that is not trained needs no gradient{ONE}",
        "--do_train --recompute=layers --hub_module=m --hub_trainable=false": "--recompute=layers and --hub_trainable=false "
        f"cannot be combined: an encoder that is not trained needs no gradient{ONE}",
        "--do_train --focal_gamma=1": "--focal_gamma needs --loss=focal",
        "--do_eval --num_runs=2": "--num_runs needs --do_train",
        "--do_train --num_runs=2": f"--num_runs needs --do_eval or --cross_validation: {COMPARED}",
        "--do_train --do_eval --num_runs=2 --dry_run": f"--num_runs and --dry_run cannot be combined: {ONE_RUN}",
        "--do_train --cross_validation=1": "--cross_validation=1: two folds or more are needed",
        "--do_eval --cross_validation=3": "--cross_validation needs --do_train",
        "--do_train --cross_validation=3 --dry_run": f"--cross_validation and --dry_run cannot be combined: {ONE_RUN}",
        "--do_train --cross_validation=3 --dev_split=0.1": "--cross_validation and --dev_split cannot be combined: each "
        f"fold is held out once{ONE}",
        "--do_train --cross_validation=3 --num_runs=2": f"--cross_validation and --num_runs cannot be combined{ONE}",
        "--do_train --cross_validation=3 --do_predict": "--cross_validation and --do_predict cannot be combined: no model "
        "remains that predicts the test file; leave --do_predict out, and train on all rows for it without "
        "--cross_validation",
        "--do_train --do_eval --cross_validation=3 --eval_every=9": "--cross_validation and --eval_every cannot be combined: "
        f"the best checkpoint would be chosen by the rows that it is measured on{ONE}",
        "--do_eval --precision=int8 --engine=tensorflow": "--precision=int8 and --engine=tensorflow cannot be combined: it "
        f"is computed by onnxruntime{ONE}",
        "--do_train --precision=int8": f"--precision=int8 and --do_train cannot be combined: {FOR_PREDICTIONS}",
        "--do_eval --precision=int8 --distribution_strategy=tpu": "--precision=int8 and --distribution_strategy=tpu cannot "
        f"be combined: {ALONE}",
        "--do_eval --precision=int8 --use_tpu": f"--precision=int8 and --use_tpu cannot be combined: {ALONE}",
        "--do_eval --engine=onnxruntime --precision=bfloat16": "--engine=onnxruntime needs --precision=auto|float32|int8",
        "--do_eval --engine=openvino --precision=int8": "--engine=openvino needs --precision=auto|bfloat16|float32",
        "--do_train --engine=openvino": f"--engine=openvino and --do_train cannot be combined: {FOR_PREDICTIONS}",
        "--do_eval --engine=openvino --distribution_strategy=mirrored": "--engine=openvino and "
        f"--distribution_strategy=mirrored cannot be combined: {ALONE}",
        "--do_eval --engine=onnxruntime --use_tpu": f"--engine=onnxruntime and --use_tpu cannot be combined: {ALONE}",
        "--do_eval --quiet --verbose": f"--quiet and --verbose cannot be combined{ONE}",
        "--do_eval --quiet --log_level=info": f"--quiet and --log_level cannot be combined{ONE}",
        "--do_eval --verbose --log_level=info": f"--verbose and --log_level cannot be combined{ONE}",
    },
    "tag": {
        "": f"nothing to do: give {PHASES}, or --text, or --input_file; see --help",
        "--do_train --input_file=-": "--do_train and --input_file cannot be combined: give one command for each",
        "--do_train --data_dir=a --output_dir=b --text_column=c": "--text_column needs --input_file: --word_column names "
        "the words of the other files",
    },
    "squad": {
        "": "nothing to do: give --do_train, --do_predict or --do_eval, or --question, or --input_file, or --score_only; "
        "see --help",
        "--input_file=- --score_only": "--input_file and --score_only cannot be combined: give one command for each",
        "--do_train": "--do_train needs --train_file",
        "--do_train --train_file=a": "--do_train needs --output_dir",
        "--do_predict": "--do_predict needs --predict_file",
        "--do_predict --predict_file=a": "--do_predict needs --output_dir",
        "--do_eval": "--do_eval needs --predict_file",
        "--do_eval --predict_file=a": "--do_eval needs --output_dir",
        "--question=a": "--question needs --context or --context_file",
        "--input_file=- --context=a": "--context needs --question",
        "--question=a --context=b --context_file=c": f"--context and --context_file cannot be combined{ONE}",
        "--input_file=- --context_file=a": "--context_file needs --question",
        "--score_only": "--score_only needs --predictions_file",
        "--score_only --predictions_file=a": "--score_only needs --predict_file",
        "--input_file=- --predictions_file=a": "--predictions_file needs --score_only",
        "--input_file=- --null_odds_file=a": "--null_odds_file needs --score_only",
    },
    "extract-features": {
        "--output_file=a": "--input_file is needed: file with one text per line, or a pair separated by ' ||| '; see --help",
        "--input_file=a": "--output_file is needed: file to write; see --help",
        "--input_file=a --output_file=- --output_format=npz": "--output_file=- needs --output_format=jsonl: other formats "
        "need a file",
        "--input_file=a --output_file=b --output_format=npy": "--output_format=npy needs --pooling: npy holds one vector per "
        "line; npz takes vectors of tokens",
        "--input_file=a --output_file=b --float16": "--float16 needs --output_format=npz|npy|parquet: other formats have no "
        "such numbers",
        "--input_file=a --output_file=b --resume --output_format=npz": "--resume needs --output_format=jsonl",
        "--input_file=a --output_file=b --resume --attentions=c": f"--resume and --attentions cannot be combined{ONE}",
        "--input_file=a --output_file=- --resume": f"--resume and --output_file=- cannot be combined{ONE}",
        "--input_file=a --output_file=b --pooling=pooler --layers=1": "--pooling=pooler and --layers cannot be combined: the "
        "pooler reads the last layer; leave --layers out",
        "--input_file=a --output_file=b --words --pooling=cls": "--words and --pooling cannot be combined: pooling gives one "
        f"vector per line{ONE}",
        "--input_file=a --output_file=b --attentions=c --long_text": "--attentions and --long_text cannot be combined: "
        f"attention is of whole lines{ONE}",
        "--input_file=a --output_file=b --words --prompt_name=c": "--prompt_name and --words cannot be combined: a prompt "
        "is part of the text; leave one of them out",
        "--show_attention=a --prompt_name=c": "--prompt_name and --show_attention cannot be combined: a prompt is part of "
        "the text; leave one of them out",
        "--input_file=a --output_file=b --attention_of=c": "--attention_of needs --show_attention",
        "--input_file=a --output_file=b --attention_map=c": "--attention_map needs --show_attention",
        "--input_file=a --output_file=b --layer=1": "--layer needs --show_attention",
        "--input_file=a --output_file=b --head=0": "--head needs --show_attention",
        "--input_file=a --output_file=b --top_k=3": "--top_k needs --show_attention",
    },
    "build-vocab": {
        "": "--input_file is needed: text files: names or patterns such as 'text/*.txt', separated by commas; see --help",
        "--input_file=a --extend=b --algorithm=words": "--extend and --algorithm cannot be combined: whole words are "
        f"added{ONE}",
        "--input_file=a --extend=b --reserved_tokens=[x]": "--extend and --reserved_tokens cannot be combined: its tokens "
        f"stay as they are{ONE}",
        "--input_file=a --add_special_tokens": "--add_special_tokens needs --extend",
        "--extend=b --add_special_tokens --vocab_size=9": "--vocab_size needs --input_file: its words are added",
    },
    "create-pretraining-data": {
        "--input_file=a --output_file=b": "--vocab_file is needed: vocab.txt or tokenizer.json of the model; see --help",
        "--input_file=a --output_file=b --vocab_file=c --whole_words_from=spaces": "--whole_words_from=spaces needs "
        "--do_whole_word_mask",
        "--input_file=a --output_file=b --vocab_file=c --num_shards=2": "--num_shards needs --num_workers or --runner: "
        "without them, there is one stream of records, as Google's",
        "--input_file=a --output_file=b --vocab_file=c --runner=direct --num_workers=2": "--runner and --num_workers cannot "
        "be combined: a runner has workers of its own; leave --num_workers out, or give Beam's in --beam_options",
        "--input_file=a --output_file=b --vocab_file=c --beam_options=d": "--beam_options needs --runner",
    },
    "pretrain": {
        "--input_file=a --output_dir=b": "nothing to do: give --do_train or --do_eval; see --help",
        "--do_train --output_dir=a": "--do_train needs --input_file",
        "--do_eval --output_dir=a": "--do_eval needs --input_file or --eval_file",
        "--do_train --input_file=a": "--output_dir is needed: directory for checkpoints and results; see --help",
    },
    "convert": {
        "--to=a": "--from is needed: model to convert: a TF1 checkpoint (prefix, file or directory), a Hugging Face "
        "directory, a .weights.h5 file, or a tensorflow-hub module (a directory, a .tar.gz, or a URL); see --help",
        "--from=a --to=b --float16 --bfloat16": f"--float16 and --bfloat16 cannot be combined{ONE}",
    },
    "export": {
        "": "--export_dir is needed: directory to write; see --help",
        "--export_dir=a --format=hub --labels=0,1": "--format=hub and --labels cannot be combined: only saved_model has a "
        f"choice{ONE}",
        "--export_dir=a --format=hub --pairs=yes": "--format=hub and --pairs cannot be combined: only saved_model has a "
        f"choice{ONE}",
        "--export_dir=a --format=onnx --pairs=yes": "--format=onnx and --pairs cannot be combined: only saved_model has a "
        f"choice{ONE}",
        "--export_dir=a --names=hugging_face": "--names needs --format=onnx",
        "--export_dir=a --quantize=int8": "--quantize needs --format=onnx",
        "--export_dir=a --format=onnx --data_dir=b": "--data_dir needs --quantize: nothing else reads data here",
    },
    "doctor": {
        "a --init_checkpoint=b": f"--init_checkpoint and MODEL cannot be combined{ONE}",
        "a --bert_config_file=b": f"--bert_config_file and MODEL cannot be combined{ONE}",
        "--init_checkpoint=a --bert_config_file=b": f"--bert_config_file and --init_checkpoint cannot be combined{ONE}",
    },
    "report": {"": "RUNS is needed: directories of training runs (their --output_dir); see --help"},
    "serve": {"": "nothing to do: give --output_dir or --model; see --help"},
    "fill-mask": {
        "": "nothing to do: give TEXTS, or --input_file; see --help",
        "a --output_file=b": "--output_file needs --input_file",
        "a --precision=int8": "--precision=int8: value should be one of <auto|float32|bfloat16|float16>",
    },
    "tokenize": {
        "": "nothing to do: give TEXTS, or --input_file; see --help",
        "a --input_file=b": "TEXTS and --input_file cannot be combined: give one command for each",
    },
}
ROWS = [(command, line, message) for command, lines in REFUSALS.items() for line, message in lines.items()]
# Checked after the training run's values are known, so only commands with a trained model get here.
REMEMBERED = {("null_odds_file", "version_2_with_negative")}


@pytest.mark.parametrize(("command", "line", "message"), ROWS)
def test_a_command_line_that_breaks_a_rule_is_refused(command, line, message, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert bert([command, *line.split()]) == 1
    assert capfd.readouterr().err.splitlines()[-1] == f"bert-{command}: error: {message}"
    assert list(tmp_path.iterdir()) == []


def test_every_rule_is_in_the_table():
    declared = {
        (rule.owner, rule.is_need, rule.text)
        for command in COMMANDS
        for flag in every_flag(settings_of(command))
        for rule in flag.rules
        if (flag.name, rule.text) not in REMEMBERED
    }
    tested = set()
    for command, line, message in ROWS:
        if message.startswith(f"{line.rpartition(' ')[2]}: "):
            continue  # a wrong value
        settings_class = settings_of(f"bert-{command}")
        first = next(refusals(build(settings_class, parse(settings_class, line.split())[0])))
        assert first.message == message
        if first.rule:
            tested.add((first.rule.owner, first.rule.is_need, first.rule.text))
    assert tested == declared


def test_conditions_name_flags_and_values_that_exist():
    for command in COMMANDS:
        flags = {flag.name: flag for flag in every_flag(settings_of(command))}
        for flag in flags.values():
            for rule in flag.rules:
                for condition in (rule.owner, *(condition for row in rule.alternatives for condition in row)):
                    choices = flags[condition.name].option.choices
                    assert not choices or set(condition.values) <= {*choices, "int8"}


def test_python_raises_for_the_same_rules():
    data = [("a", "0"), ("b", "1")]
    with pytest.raises(InputError, match=r"^focal_gamma needs loss=focal$"):
        Classifier.train(data, focal_gamma=1.0)
    with pytest.raises(InputError, match=r"^calibrate needs do_eval or cross_validation: it is measured"):
        Classifier.train(data, calibrate=True)


def test_a_remembered_flag_may_need_a_flag_that_is_off_now():
    """The training has checked its own flags, and an evaluation may turn one of them off."""
    settings = build(settings_of("bert-pretrain"), {"whole_words_from": "spaces"})
    check_needs(settings, ("do_eval",))
    with pytest.raises(InputError, match=r"^--whole_words_from=spaces needs --do_whole_word_mask$"):
        check_needs(settings, ("do_eval", "whole_words_from"))


def test_checks_of_flags_are_short():
    """Rules belong to flags: --help and completion do not show code."""
    modules = [name for name in HOUSE.modules if name.count(".") < 2 or name.split(".")[1] in ("flags", "settings")]
    checks = [node for node in HOUSE.functions(modules) if node.name.lstrip("_").startswith("check")]
    assert len(checks) > 20
    assert [node.name for node in checks if lines_of(node) > MAX_CHECK_LINES] == []
