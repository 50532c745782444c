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
from tests.snapshots import check_message

ENDINGS = "--choice_columns=a,b"
# Command -> command lines.
REFUSALS = {
    "classify": [
        "",
        "--do_train --text=a",
        "--do_eval --explain=a",
        "--do_train --metric=a:b",
        "--text=a --text_column=b",
        "--text=a --text_b_column=b",
        "--text=a --id_column=b",
        "--explain=a --text_column=b",
        "--explain=a --text_b_column=b",
        "--explain=a --id_column=b",
        "--text=a --input_file=-",
        "--do_predict --test_file=a --predict_file=b",
        f"--do_train {ENDINGS} --cross_validation=3",
        f"--do_train {ENDINGS} --text_b_column=c",
        f"--do_train {ENDINGS} --label_separator=;",
        f"--do_train {ENDINGS} --labels=0,1",
        "--do_train --choice_labels=name",
        "--do_train --problem_type=multiple_choice",
        "--do_train --dev_split=0.1 --dev_file=a",
        "--do_train --soft_labels",
        "--do_train --soft_labels --problem_type=multi_label",
        "--do_train --soft_labels --problem_type=single_label --task_name=cola",
        "--do_train --soft_labels --problem_type=single_label --label_separator=;",
        f"--do_train --soft_labels --problem_type=single_label {ENDINGS}",
        "--do_train --normalize_soft_labels",
        "--do_train --group_column=a",
        "--do_eval --weight_column=a",
        "--do_train --weighted_metrics",
        "--do_train --weight_column=a --task_name=cola",
        "--do_train --group_column=a --dev_split=0.1 --task_name=cola",
        "--do_train --hub_module=m --init_checkpoint=c",
        "--do_train --hub_trainable=false",
        "--do_train --hub_module=m --hub_trainable=false --freeze_layers=0",
        "--do_train --hub_module=m --hub_trainable=false --layerwise_lr_decay=0.9",
        "--do_train --hub_module=m --hub_trainable=false --hidden_dropout_prob=0",
        "--do_train --hub_module=m --hub_trainable=false --attention_dropout_prob=0",
        "--do_train --report_model",
        "--do_eval --dry_run",
        "--do_train --glue_submission --task_name=swag",
        "--do_train --glue_submission --task_name=cola --predict_file=a",
        "--do_train --keep_columns=all",
        "--text=a --positive_label=b",
        "--do_train --calibrate",
        "--do_eval --abstain_error=2%",
        "--do_predict --bootstrap=1000",
        "--do_eval --to_label=margin",
        "--do_predict --to_label_rows=5",
        "--explain",
        "--explain=a --text=b",
        "--do_eval --text_b=a",
        "--do_eval --line_buffered",
        "--do_eval --output_file=a",
        "--do_eval --train_batch_size=8,16",
        "--do_train --train_batch_size=8,16",
        "--do_train --do_eval --train_batch_size=8,16 --dry_run",
        "--do_eval --learning_rate=1,2",
        "--do_train --learning_rate=1,2",
        "--do_train --do_eval --learning_rate=1,2 --dry_run",
        "--do_eval --num_train_epochs=1,2",
        "--do_train --num_train_epochs=1,2",
        "--do_train --do_eval --num_train_epochs=1,2 --dry_run",
        "--do_eval --distill_from=a",
        "--do_train --unlabeled_file=a",
        "--do_train --distill_temperature=1",
        "--do_train --distill_share=0.9",
        "--do_eval --eval_every=9",
        "--do_train --eval_every=9",
        "--do_train --early_stopping_patience=2",
        "--do_train --freeze_encoder --freeze_layers=0",
        "--do_eval --method=linear_probe",
        "--do_train --method=linear_probe --distill_from=a",
        "--do_train --method=contrastive --distill_from=a",
        "--do_train --method=linear_probe --soft_labels --problem_type=single_label",
        "--do_train --method=contrastive --soft_labels --problem_type=single_label",
        "--do_train --method=linear_probe --long_text=windows",
        "--do_train --method=contrastive --long_text=windows",
        "--do_train --method=linear_probe --head_input=cls",
        "--do_train --method=contrastive --head_input=cls",
        "--do_train --method=linear_probe --loss=focal",
        "--do_train --method=contrastive --loss=focal",
        "--do_train --method=linear_probe --label_smoothing=0.1",
        "--do_train --method=contrastive --label_smoothing=0.1",
        "--do_train --method=linear_probe --classifier_dropout=0",
        "--do_train --method=contrastive --classifier_dropout=0",
        "--do_train --method=linear_probe --do_eval --eval_every=5",
        "--do_train --method=contrastive --do_eval --eval_every=5",
        "--do_train --method=linear_probe --dry_run",
        "--do_train --method=contrastive --dry_run",
        "--do_train --method=linear_probe --choice_columns=a,b",
        "--do_train --method=contrastive --choice_columns=a,b",
        "--do_train --method=linear_probe --freeze_encoder",
        "--do_train --method=contrastive --freeze_encoder",
        "--do_train --method=linear_probe --hub_module=m --hub_trainable=false",
        "--do_train --method=contrastive --hub_module=m --hub_trainable=false",
        "--do_train --method=linear_probe --learning_rate=0.1",
        "--do_train --method=linear_probe --num_train_epochs=2",
        "--do_train --method=linear_probe --warmup_proportion=0",
        "--do_train --method=linear_probe --optimizer=lamb",
        "--do_train --method=linear_probe --weight_decay=0",
        "--do_train --method=linear_probe --lr_schedule=cosine",
        "--do_train --method=linear_probe --gradient_accumulation_steps=2",
        "--do_train --method=linear_probe --auto_batch",
        "--do_train --method=linear_probe --recompute=layers",
        "--do_train --method=linear_probe --lora_rank=2",
        "--do_train --method=linear_probe --freeze_layers=0",
        "--do_train --method=linear_probe --layerwise_lr_decay=0.9",
        "--do_train --method=linear_probe --hidden_dropout_prob=0",
        "--do_train --method=linear_probe --attention_dropout_prob=0",
        "--do_train --method=linear_probe --bias_correction",
        "--do_train --method=contrastive --weight_column=w",
        "--do_train --method=contrastive --class_weights=balanced",
        "--do_train --method=contrastive --gradient_accumulation_steps=2",
        "--do_train --method=contrastive --auto_batch",
        "--do_train --lora_rank=2 --freeze_encoder",
        "--do_train --lora_rank=2 --freeze_layers=0",
        "--do_train --lora_rank=2 --layerwise_lr_decay=0.9",
        "--do_train --lora_rank=2 --recompute=layers",
        "--do_train --lora_rank=2 --hub_module=m --hub_trainable=false",
        "--do_train --lora_alpha=2",
        "--do_train --lora_targets=key",
        "--do_train --freeze_encoder --layerwise_lr_decay=0.9",
        "--do_train --freeze_encoder --hidden_dropout_prob=0",
        "--do_train --freeze_encoder --attention_dropout_prob=0",
        "--do_train --optimizer=adam --weight_decay=0.1",
        "--do_train --recompute=layers --freeze_encoder",
        "--do_train --recompute=layers --hub_module=m --hub_trainable=false",
        "--do_train --focal_gamma=1",
        "--do_eval --num_runs=2",
        "--do_train --num_runs=2",
        "--do_train --do_eval --num_runs=2 --dry_run",
        "--do_eval --cross_validation=3",
        "--do_train --cross_validation=3 --dry_run",
        "--do_train --cross_validation=3 --dev_split=0.1",
        "--do_train --cross_validation=3 --num_runs=2",
        "--do_train --cross_validation=3 --do_predict",
        "--do_train --cross_validation=3 --eval_every=9",
        "--do_train --cross_validation_repeats=2",
        "--do_eval --rows_per_label=8",
        "--do_train --rows_per_label=8,16",
        "--do_train --do_eval --rows_per_label=8,16 --dry_run",
        "--do_train --do_eval --inner_cross_validation=2 --learning_rate=1e-4,1e-3",
        "--do_train --cross_validation=3 --inner_cross_validation=2",
        "--do_train --average_predictions",
        "--do_train --cross_validation=3 --average_predictions",
        "--do_predict --member_columns",
        "--do_predict --to_label=disagreement",
        "--do_eval --ensemble=b,c --member_columns",
        "--explain=a --ensemble=b,c",
        "--text=a --explain --ensemble=b,c",
        "--do_train --do_eval --ensemble=b,c",
        "--do_eval --ensemble=b,c --init_checkpoint=d",
        "--do_eval --ensemble=b,c --hub_module=d",
        "--do_eval --ensemble=b,c --calibrate",
        "--do_train --cross_validation=3 --cross_validation_repeats=2 --calibrate",
        "--do_eval --precision=int8 --engine=tensorflow",
        "--do_train --precision=int8",
        "--do_eval --precision=int8 --distribution_strategy=tpu",
        "--do_eval --precision=int8 --use_tpu",
        "--do_eval --engine=onnxruntime --precision=bfloat16",
        "--do_eval --engine=openvino --precision=int8",
        "--do_train --engine=openvino",
        "--do_eval --engine=openvino --distribution_strategy=mirrored",
        "--do_eval --engine=onnxruntime --use_tpu",
        "--do_eval --quiet --verbose",
        "--do_eval --quiet --log_level=info",
        "--do_eval --verbose --log_level=info",
    ],
    "train-vectors": ["", "--do_train --margin=0.2", "--do_eval --mine_negatives=2"],
    "tag": [
        "",
        "--do_train --input_file=-",
        "--do_train --data_dir=a --output_dir=b --text_column=c",
        "--do_train --do_eval --dev_split=0.1",
        "--do_train --do_eval --average_predictions",
        "--do_train --cross_validation=3 --average_predictions",
        "--do_train --cross_validation_repeats=2",
        "--do_predict --bootstrap=1000",
    ],
    "squad": [
        "",
        "--do_predict --predict_file=a --output_dir=b --bootstrap=1000",
        "--input_file=- --score_only",
        "--do_train",
        "--do_train --train_file=a",
        "--do_predict",
        "--do_predict --predict_file=a",
        "--do_eval",
        "--do_eval --predict_file=a",
        "--question=a",
        "--input_file=- --context=a",
        "--question=a --context=b --context_file=c",
        "--input_file=- --context_file=a",
        "--score_only",
        "--score_only --predictions_file=a",
        "--input_file=- --predictions_file=a",
        "--input_file=- --null_odds_file=a",
    ],
    "extract-features": [
        "--output_file=a",
        "--input_file=a",
        "--input_file=a --output_file=- --output_format=npz",
        "--input_file=a --output_file=b --output_format=npy",
        "--input_file=a --output_file=b --float16",
        "--input_file=a --output_file=b --resume --output_format=npz",
        "--input_file=a --output_file=b --resume --attentions=c",
        "--input_file=a --output_file=- --resume",
        "--input_file=a --output_file=b --pooling=pooler --layers=1",
        "--input_file=a --output_file=b --words --pooling=cls",
        "--input_file=a --output_file=b --attentions=c --long_text",
        "--input_file=a --output_file=b --words --prompt_name=c",
        "--show_attention=a --prompt_name=c",
        "--show_attention=a --input_file=b",
        "--show_attention=a --output_file=b",
        "--show_attention=a --layers=1",
        "--show_attention=a --pooling=cls",
        "--show_attention=a --combine=sum",
        "--show_attention=a --normalize",
        "--show_attention=a --words",
        "--show_attention=a --long_text",
        "--show_attention=a --output_format=npz",
        "--show_attention=a --resume",
        "--show_attention=a --shard=1/2",
        "--show_attention=a --attentions=b.npz",
        "--input_file=a --output_file=b --attention_of=c",
        "--input_file=a --output_file=b --attention_map=c",
        "--input_file=a --output_file=b --layer=1",
        "--input_file=a --output_file=b --head=0",
        "--input_file=a --output_file=b --top_k=3",
    ],
    "build-vocab": [
        "",
        "--input_file=a --extend=b --algorithm=words",
        "--input_file=a --extend=b --reserved_tokens=[x]",
        "--input_file=a --add_special_tokens",
        "--extend=b --add_special_tokens --vocab_size=9",
    ],
    "create-pretraining-data": [
        "--input_file=a --output_file=b",
        "--input_file=a --output_file=b --vocab_file=c --whole_words_from=spaces",
        "--input_file=a --output_file=b --vocab_file=c --num_shards=2",
        "--input_file=a --output_file=b --vocab_file=c --runner=direct --num_workers=2",
        "--input_file=a --output_file=b --vocab_file=c --beam_options=d",
    ],
    "pretrain": [
        "--input_file=a --output_dir=b",
        "--do_train --output_dir=a",
        "--do_eval --output_dir=a",
        "--do_train --input_file=a",
        "--do_train --input_file=a --output_dir=b --num_train_epochs=2 --num_train_steps=9",
        "--do_train --input_file=a --output_dir=b --pack",
        "--do_train --input_file=a --output_dir=b --line_by_line",
        "--do_train --input_file=a --output_dir=b --no_nsp --pack --short_seq_prob=0.2",
        "--do_train --input_file=a --output_dir=b --no_nsp --line_by_line --short_seq_prob=0.2",
    ],
    "convert": [
        "--to=a",
        "--from=a --to=b --float16 --bfloat16",
    ],
    "export": [
        "",
        "--export_dir=a --format=hub --labels=0,1",
        "--export_dir=a --format=hub --pairs=yes",
        "--export_dir=a --format=onnx --pairs=yes",
        "--export_dir=a --format=tflite --pairs=yes",
        "--export_dir=a --names=hugging_face",
        "--export_dir=a --quantize=int8",
        "--export_dir=a --format=onnx --data_dir=b",
        "--export_dir=a --format=onnx --dev_file=b",
        "--export_dir=a --format=onnx --quantize=int8 --data_dir=b --dev_file=c",
        "--export_dir=a --format=onnx --top_k=3",
        "--export_dir=a --format=hub --triton",
        "--export_dir=a --format=hub --pooling=mean",
        "--export_dir=a --format=hub --normalize",
        "--export_dir=a --format=hub --prompt_name=b",
        "--export_dir=a --pooling=mean --labels=0,1",
        "--export_dir=a --normalize --labels=0,1",
        "--export_dir=a --prompt_name=b --labels=0,1",
        "--export_dir=a --ensemble=b,c --init_checkpoint=d",
        "--export_dir=a --ensemble=b,c --vocab_file=d",
        "--export_dir=a --ensemble=b,c --bert_config_file=d",
        "--export_dir=a --ensemble=b,c --labels=0,1",
        "--export_dir=a --ensemble=b,c --format=hub",
        "--export_dir=a --ensemble=b,c --format=onnx --names=hugging_face",
        "--export_dir=a --ensemble=b,c --pooling=mean",
        "--export_dir=a --ensemble=b,c --normalize",
        "--export_dir=a --ensemble=b,c --prompt_name=d",
    ],
    "doctor": [
        "a --init_checkpoint=b",
        "a --bert_config_file=b",
        "--init_checkpoint=a --bert_config_file=b",
    ],
    "report": [
        "",
    ],
    "serve": [
        "",
        "--output_dir=a --ssl_keyfile=b",
        "--output_dir=a --uds=b --port=1",
        "--output_dir=a --uds=b --host=c",
    ],
    "fill-mask": [
        "",
        "a --output_file=b",
        "a --candidates=b --top_k=3",
        "a --score --top_k=3",
        "a --score --candidates=b",
    ],
    "tokenize": [
        "",
        "a --input_file=b",
    ],
}
ROWS = [(command, line) for command, lines in REFUSALS.items() for line in lines]
WRONG_VALUES = [
    ("classify", "--do_train --cross_validation=1"),
    ("classify", "--do_train --cross_validation=2 --inner_cross_validation=1"),
    ("fill-mask", "a --precision=int8"),
]
# Checked after the training run's values are known, so only commands with a trained model get here.
REMEMBERED = {("null_odds_file", "version_2_with_negative")}


@pytest.mark.parametrize(("command", "line"), ROWS + WRONG_VALUES)
def test_broken_rules_are_refused(command, line, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert bert([command, *line.split()]) == 1
    check_message(capfd.readouterr().err.splitlines()[-1], f"bert-{command}: error: ")
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
    for command, line in ROWS:
        settings_class = settings_of(f"bert-{command}")
        first = next(refusals(build(settings_class, parse(settings_class, line.split())[0])))
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
