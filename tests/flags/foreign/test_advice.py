"""Advice about flags of other programs names only flags that the command has."""

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.base.errors import InputError, mentioned_flags
from bert_cli.flags.foreign.advice import advice_by_flag, unknown_flags_message
from bert_cli.flags.option import every_flag
from bert_cli.flags.parser import parse
from tests.docs_pages import settings_of
from tests.foreign_flags import FOREIGN_FLAGS
from tests.snapshots import check_message, raises

FLAGS = {command: [flag.name for flag in every_flag(settings_of(command))] for command in COMMANDS}


def test_every_row_is_used_by_a_command():
    unused = [
        (name, advice.text)
        for name, rows in advice_by_flag().items()
        for index, advice in enumerate(rows)
        if not any(
            (name not in flags or advice.flags.startswith(f"--{name}"))
            and advice.fits(flags)
            and not any(better.fits(flags) for better in rows[:index])
            for flags in FLAGS.values()
        )
    ]
    assert unused == []


@pytest.mark.parametrize("command", COMMANDS)
def test_advice_names_only_flags_of_the_command(command):
    flags = FLAGS[command]
    for name in advice_by_flag():
        if name not in flags:
            text = unknown_flags_message([name], flags)
            assert set(mentioned_flags(text.removeprefix(f"unknown flag --{name}: "))) <= set(flags), text
            assert "did you mean" not in text


@pytest.mark.parametrize(
    ("command", "name", "hint"),
    [
        ("bert-classify", "model_name_or_path", ": the flag is --init_checkpoint"),
        ("bert-classify", "bert_model", ": the flag is --init_checkpoint"),
        ("bert-classify", "per_device_train_batch_size", ": the flag is --train_batch_size, over all devices"),
        ("bert-classify", "per-device-train-batch-size", ": the flag is --train_batch_size, over all devices"),
        ("bert-classify", "validation_file", ": the flag is --dev_file"),
        ("bert-squad", "validation_file", ": the flag is --predict_file"),
        ("bert-pretrain", "validation_file", ": the flag is --eval_file"),
        ("bert-pretrain", "max_steps", ": the flag is --num_train_steps"),
        ("bert-tag", "max_steps", ": the flag is --num_train_epochs, which counts epochs"),
        ("bert-tag", "task_name", ": this command has a single task; leave it out"),
        ("bert-tag", "text_column_name", ": the flag is --word_column"),
        ("bert-classify", "text_column_name", ": the flag is --text_column"),
        ("bert-classify", "deepspeed", ": a model is not divided among devices here; leave it out"),
        ("bert-tag", "use_lora", ": the flag is --lora_rank"),
        ("bert-tokenize", "lora_r", ": there are no adapters here; leave it out"),
        ("bert-export", "model", ": the flag is --init_checkpoint"),
        ("bert-tag", "crf", ": there is no CRF; --decoding=viterbi forbids impossible sequences"),
        ("bert-classify", "crf", ": there is no CRF; leave it out"),
        ("bert-serve", "model_dir", ": the flag is --output_dir"),
        ("bert-tokenize", "fp16", ": this command has no flag for it; leave it out"),
        (
            "bert-classify",
            "batch_size",
            ": the flags are --train_batch_size, --eval_batch_size or --predict_batch_size",
        ),
        ("bert-classify", "max_seq_lenght", "; did you mean --max_seq_length?"),
        ("bert-classify", "Max-Seq-Length", "; did you mean --max_seq_length?"),
        ("bert-classify", "nodo_trian", "; did you mean --do_train?"),
        ("bert-classify", "txet", "; did you mean --text?"),
        ("bert-tag", "label_all", "; did you mean --label_all_pieces?"),
        # Less similar names give no guess.
        ("bert-serve", "max_stepz", "; --helpfull lists all flags"),
        ("bert-classify", "hub_model", "; --helpfull lists all flags"),
        ("bert-classify", "evaluation", "; --helpfull lists all flags"),
    ],
)
def test_message_about_one_flag(command, name, hint):
    assert unknown_flags_message([name], FLAGS[command]) == f"unknown flag --{name}{hint}"


@pytest.mark.parametrize(
    ("command", "argument", "name"),
    [
        ("bert-fill-mask", "--texts=a [MASK]", "texts"),
        ("bert-fill-mask", "--text", "texts"),
        ("bert-tokenize", "--texts", "texts"),
        ("bert-report", "--runs=out", "runs"),
        ("bert-prepare", "--path", "paths"),
        ("bert-doctor", "--model=m", "model"),
    ],
)
def test_an_argument_without_a_flag_is_not_guessed_as_a_flag(command, argument, name):
    with raises(InputError, f"{name} without"):
        parse(settings_of(command), [argument])


def test_message_about_several_flags():
    assert unknown_flags_message(["fp16", "xyzzy", "do_tran"], FLAGS["bert-tag"]) == (
        "unknown flags --fp16 (the flag is --precision=float16), --xyzzy, --do_tran (did you mean --do_train?); "
        "--helpfull lists all flags"
    )
    assert unknown_flags_message(["seed", "lr"], FLAGS["bert-tag"], "") == (
        "unknown flags --seed (the flag is --random_seed), --lr (the flag is --learning_rate)"
    )


def test_many_unknown_flags_make_a_short_message():
    check_message(unknown_flags_message([f"x{number}" for number in range(3000)], ["do_train"]), "--x18")


@pytest.mark.parametrize("command", FOREIGN_FLAGS)
def test_flags_of_a_replaced_command_line_are_answered_with_a_reason(command):
    names = {name for names in FOREIGN_FLAGS[command] for name in names.split()}
    texts = {name: unknown_flags_message([name], FLAGS[command]) for name in names.difference(FLAGS[command])}
    unanswered = [
        text
        for name, text in texts.items()
        if not text.startswith(f"unknown flag --{name}: ") or "no flag for it" in text or "--helpfull" in text
    ]
    assert len(texts) > 8
    assert unanswered == []


@pytest.mark.parametrize("arguments", [["--fp16", "False"], ["--fp16=no"], ["--bf16=False"]])
def test_a_foreign_switch_that_is_off_is_left_out(arguments):
    with raises(InputError, "it is off here"):
        parse(settings_of("bert-classify"), arguments)
