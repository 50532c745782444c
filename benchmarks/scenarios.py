"""Scenarios that `python -m benchmarks.compare_versions` runs, and their small input files.

A scenario is a list of commands that run one after another in a separate directory. Next to it is
the directory `in`, which `make_inputs` fills from the repository's data/.
"""

import collections
import dataclasses
import json
import pathlib
from collections.abc import Iterable

MODULES = {
    "classify": "run_classifier",
    "tag": "run_tagging",
    "squad": "run_squad",
    "pretrain": "run_pretraining",
    "create-pretraining-data": "create_pretraining_data",
    "build-vocab": "build_vocab",
    "fill-mask": "fill_mask",
    "extract-features": "extract_features",
    "export": "export_model",
    "convert": "convert_checkpoint",
    "prepare": "prepare_data",
    "report": "report_runs",
}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Commands to run with both versions.

    Attributes:
        name: name, also for the directory.
        commands: lines such as "classify --do_train …" (a key of MODULES and its flags), or
            "python" and a program.
        stdin: standard input for every command.
        category: "help" for texts that may change intentionally.
    """

    name: str
    commands: tuple[str, ...]
    stdin: str = ""
    category: str = ""


_RANDOM = "--init_checkpoint=random --vocab_file=../in/vocab.txt --bert_config_file=../in/"
_TINY = _RANDOM + "tiny.json"
_CLASSIFY = f"classify {_TINY} --max_seq_length=20 --train_batch_size=32 --num_train_epochs=2 --learning_rate=3e-3"
_COLA = f"{_CLASSIFY} --task_name=cola --data_dir=../in/cola"
_ALL = "--do_train --do_eval --do_predict"
_TAG = f"tag {_RANDOM}four.json --max_seq_length=32 --train_batch_size=16 --num_train_epochs=1 --learning_rate=1e-3"
_SQUAD = f"squad {_TINY} --max_seq_length=64 --doc_stride=16 --max_query_length=12 --train_batch_size=8"
_SQUAD += " --num_train_epochs=0.6 --learning_rate=1e-3"
_MASKS = "--vocab_file=../in/vocab.txt --max_seq_length=32 --max_predictions_per_seq=5"
_PRETRAIN = f"pretrain {_MASKS} --bert_config_file=../in/tiny.json --train_batch_size=8 --num_warmup_steps=2"
_PRETRAIN += " --max_eval_steps=3 --learning_rate=1e-3"
_TABLE = f"{_CLASSIFY} --save_checkpoints_steps=4"
_FEATURES = "extract-features --input_file=../in/texts.txt --max_seq_length=16"

SCENARIOS = (
    # A classifier: training, and later commands in its directory.
    Scenario(
        "classify",
        (
            f"{_COLA} {_ALL} --output_dir=o --save_checkpoints_steps=5 --precision=float32 --tensorboard",
            "classify --output_dir=o --do_predict --init_checkpoint=o/model.ckpt-5 --glue_submission --output_format=csv",
            "classify --output_dir=o --do_eval --engine=onnxruntime --do_predict --output_format=jsonl",
            "classify --output_dir=o --do_eval --precision=int8 --do_predict --predict_file=../in/texts.txt",
            f"{_COLA} {_ALL} --output_dir=o --save_checkpoints_steps=5 --precision=float32 --num_train_epochs=2.5",
            "classify --output_dir=o --do_predict --predict_file=../in/part-*.txt --shard=0/2",
            "classify --output_dir=o --do_predict --predict_file=../in/part-*.txt",
            "report o --output_file=again.html",
        ),
    ),
    Scenario(
        "classify-texts",
        (
            f"{_COLA} --do_train --output_dir=o --report=false --precision=float32",
            "classify --output_dir=o --text 'the dog sees a cat .'",
            "classify --output_dir=o --text 'the dog sees a cat .' --engine=onnxruntime",
            "classify --output_dir=o --text 'the dog sees a cat .' --precision=int8",
            "classify --output_dir=o --explain 'the dog sees a cat .'",
            "classify --output_dir=o --input_file=../in/texts.txt --precision=bfloat16",
            "classify --output_dir=o --input_file=- --engine=onnxruntime --output_file=answers.jsonl",
            "classify --output_dir=o --input_file=../in/part-*.txt --output_file=parts.jsonl --shard=0/2 --engine=onnxruntime",
            "classify --output_dir=o --input_file=../in/part-*.txt --output_file=parts.jsonl --engine=onnxruntime",
            "classify --output_dir=o --input_file=../in/part-*.txt --output_file=int8.jsonl --precision=int8",
        ),
        stdin="the dog sees a cat .\n\nMaria cleans the table .\n",
    ),
    # Input files and problem types.
    Scenario(
        "classify-builtin",
        (
            "classify --task_name=cola --data_dir=../in/cola --output_dir=o --do_train --do_eval --do_predict"
            " --max_seq_length=16 --train_batch_size=16 --num_train_epochs=2 --learning_rate=3e-4",
        ),
    ),
    Scenario(
        "classify-csv",
        (
            f"{_TABLE} {_ALL} --train_file=../in/reviews.csv --dev_split=0.2 --predict_file=../in/texts.txt --output_dir=o"
            " --loss=focal --focal_gamma=1.5 --label_smoothing=0.1 --class_weights=balanced --lr_schedule=cosine --verbose"
            " --long_text=head_tail --max_seq_length=9",
            "classify --output_dir=o --do_predict --predict_file=../in/reviews.csv --output_format=jsonl --quiet",
        ),
    ),
    Scenario(
        "classify-multi-label",
        (
            f"{_TABLE} --train_file=../in/multi.tsv --dev_file=../in/multi.tsv --test_file=../in/multi.tsv {_ALL}"
            " --label_column=toxic,rude --id_column=id --threshold=tuned --output_dir=o --class_weights=balanced",
            "classify --output_dir=o --text 'the dog sees a cat .' --threshold=tuned",
            "classify --output_dir=o --do_eval --do_predict --engine=onnxruntime",
            "export --format=onnx --init_checkpoint=o --export_dir=onnx --quantize=int8",
            "export --init_checkpoint=o --export_dir=serving/1",
            "convert --from=o --to=hf --check",
        ),
    ),
    Scenario(
        "classify-regression",
        (
            f"{_TABLE} --train_file=../in/numbers.tsv --dev_file=../in/numbers.tsv --test_file=../in/numbers.tsv {_ALL}"
            " --problem_type=regression --head_input=mean --output_dir=o --weight_decay=0.1",
            "classify --output_dir=o --text 'the dog sees a cat .'",
            "export --init_checkpoint=o --export_dir=serving/1",
            "export --format=onnx --init_checkpoint=o --export_dir=onnx",
        ),
    ),
    Scenario(
        "classify-choices",
        (
            f"{_TABLE} --train_file=../in/choices.tsv --dev_file=../in/choices.tsv --test_file=../in/choices.tsv {_ALL}"
            " --text_column=start --choice_columns=first,second,third --label_column=right --choice_labels=1 --output_dir=o"
            " --max_seq_length=32",
            "convert --from=o --to=hf",
            "convert --from=hf --to=back/bert_model.ckpt",
        ),
    ),
    Scenario(
        "classify-pairs",
        (
            f"{_TABLE} --train_file=../in/pairs.jsonl --dev_file=../in/pairs.jsonl --predict_file=../in/pairs.jsonl {_ALL}"
            " --text_column=first --text_b_column=second --label_column=same --head_input=cls --output_dir=o"
            " --max_seq_length=32",
            "classify --output_dir=o --text 'the dog sees a cat .' --text_b 'a cat sees the dog .'",
            "classify --output_dir=o --input_file=../in/pairs.txt",
            "export --init_checkpoint=o --export_dir=serving/1",
        ),
    ),
    Scenario(
        "classify-windows",
        (
            f"{_TABLE} --train_file=../in/long.tsv --dev_split=0.25 --predict_file=../in/long.tsv {_ALL} --text_column=1"
            " --label_column=0 --header=no --long_text=windows --output_dir=o --max_seq_length=12",
            "classify --output_dir=o --input_file=../in/lines.txt --output_file=answers.jsonl",
        ),
    ),
    Scenario(
        "classify-tasks",
        (
            f"{_CLASSIFY} --task_name=sst-2 --data_dir=../in/sst-2 {_ALL} --output_dir=sst --num_train_epochs=0.5",
            f"{_CLASSIFY} --task_name=mnli --data_dir=../in/mnli {_ALL} --output_dir=mnli --glue_submission",
        ),
    ),
    # Training settings.
    Scenario(
        "classify-frozen",
        (
            f"{_COLA} {_ALL} --output_dir=o --freeze_encoder",
            f"{_COLA} --do_train --output_dir=two --freeze_layers=1 --layerwise_lr_decay=0.8 --optimizer=nadam --report=false",
        ),
    ),
    Scenario(
        "classify-optimizers",
        (
            f"{_COLA} --do_train --do_eval --output_dir=lamb --optimizer=lamb --gradient_accumulation_steps=4"
            " --lr_schedule=constant --report=false --hidden_dropout_prob=0.2 --attention_dropout_prob=0 --random_seed=7",
            f"{_COLA} --do_train --output_dir=adam --bias_correction --layerwise_lr_decay=0.9 --report=false"
            " --precision=bfloat16 --class_weights=0=2 --classifier_dropout=0.3 --auto_batch",
        ),
    ),
    Scenario(
        "classify-best",
        (
            f"{_COLA} {_ALL} --output_dir=o --eval_every=2 --early_stopping_patience=2 --num_train_epochs=4"
            " --metric_for_best=accuracy --keep_checkpoint_max=2 --tensorboard --log_steps=1",
            "classify --output_dir=o --text 'the dog sees a cat .' --engine=onnxruntime",
        ),
    ),
    Scenario(
        "classify-stopped",
        (
            f"{_COLA} --do_train --do_eval --output_dir=o --save_checkpoints_steps=4",
            "python import pathlib\nfor path in pathlib.Path('o').glob('model.ckpt-12*'): path.unlink()",
            f"{_COLA} --do_train --do_eval --output_dir=o --save_checkpoints_steps=4",
            f"{_COLA} --do_train --do_eval --output_dir=o --save_checkpoints_steps=4",
        ),
    ),
    Scenario("classify-seeds", (f"{_COLA} {_ALL} --output_dir=o --num_runs=2 --num_train_epochs=0.5",)),
    Scenario(
        "classify-grid",
        (
            f"{_COLA} {_ALL} --output_dir=o --learning_rate=1e-3,5e-4 --num_train_epochs=0.5",
            "report o/grid-learning_rate-0.001 o/grid-learning_rate-0.0005",
        ),
    ),
    Scenario(
        "classify-folds",
        (f"{_CLASSIFY} --do_train --train_file=../in/reviews.csv --output_dir=o --cross_validation=2",),
    ),
    Scenario(
        "classify-distilled",
        (
            f"{_CLASSIFY} --do_train --train_file=../in/reviews.csv --output_dir=teacher --report=false",
            f"{_CLASSIFY} --do_train --do_eval --train_file=../in/reviews.csv --dev_split=0.2 --output_dir=o"
            " --distill_from=teacher --unlabeled_file=../in/texts.txt --distill_share=0.7 --distill_temperature=3",
        ),
    ),
    Scenario("classify-dry-run", (f"{_COLA} --do_train --do_eval --dry_run --output_dir=o",)),
    Scenario(
        "classify-devices",
        (
            f"{_COLA} --do_train --do_eval --output_dir=o --distribution_strategy=mirrored --num_virtual_devices=2"
            " --report=false",
        ),
    ),
    Scenario(
        "tag",
        (
            f"{_TAG} --data_dir=../in/tagging {_ALL} --output_dir=o --precision=float32",
            "tag --output_dir=o --do_eval --do_predict --decoding=viterbi --engine=onnxruntime",
            "tag --output_dir=o --text 'Edith met Anna in Lund on 3 May .'",
            "tag --output_dir=o --input_file=../in/texts.txt --precision=int8",
            "tag --output_dir=o --input_file=- --output_file=answers.jsonl --decoding=viterbi",
            "export --format=onnx --init_checkpoint=o --export_dir=onnx --quantize=int8",
            "convert --from=o --to=hf --check",
            "convert --from=hf --to=back/bert_model.ckpt",
        ),
        stdin="Edith met Anna in Lund .\n\nNo one .\n",
    ),
    Scenario(
        "tag-frozen",
        (
            f"{_TAG} --data_dir=../in/tagging_json {_ALL} --output_dir=o --freeze_encoder --layers=-1,-2,-3,-4",
            f"{_TAG} --data_dir=../in/tagging --do_train --do_eval --output_dir=two --label_all_pieces --doc_stride=4"
            " --max_seq_length=12 --class_weights=balanced --loss=focal --report=false --optimizer=lamb",
        ),
    ),
    Scenario("tag-folds", (f"{_TAG} --data_dir=../in/tagging --do_train --cross_validation=2 --output_dir=o",)),
    Scenario(
        "squad",
        (
            f"{_SQUAD} --train_file=../in/squad/train.json --predict_file=../in/squad/dev.json {_ALL} --output_dir=o"
            " --skip_padding --eval_every=3 --num_train_epochs=1",
            "squad --output_dir=o --do_predict --do_eval --predict_file=../in/squad/dev.json --keep_padding"
            " --n_best_size=3 --max_answer_length=8",
            "squad --output_dir=o --question='Who found the key?' --context='On Monday Anna found a key.'",
            "squad --output_dir=o --input_file=../in/questions.jsonl --precision=int8",
            "squad --score_only --predictions_file=o/predictions.json --predict_file=../in/squad/dev.json",
            "export --format=onnx --init_checkpoint=o --export_dir=onnx",
            "convert --from=o --to=hf --head=spans",
        ),
    ),
    Scenario(
        "squad-2",
        (
            f"{_SQUAD} --train_file=../in/squad/train2.json --predict_file=../in/squad/dev2.json {_ALL} --output_dir=o"
            " --version_2_with_negative --steps_from_examples",
            "squad --output_dir=o --do_predict --do_eval --predict_file=../in/squad/dev2.json"
            " --null_score_diff_threshold=-1 --precision=float32 --verbose_logging",
            "squad --output_dir=o --input_file=- --output_file=answers.jsonl",
            "squad --score_only --version_2_with_negative --predictions_file=o/predictions.json"
            " --null_odds_file=o/null_odds.json --predict_file=../in/squad/dev2.json",
        ),
        stdin='{"id": "a", "question": "Who found it?", "context": "Anna found a key. Tom did not."}\n',
    ),
    # Pre-training and its tools.
    Scenario(
        "vocabulary",
        (
            "build-vocab --input_file=../in/corpus.txt --output_file=small.txt --vocab_size=300 --min_count=1",
            "build-vocab --input_file=../in/corpus*.txt --output_file=cased.txt --do_lower_case=false --num_workers=2"
            " --reserved_tokens=[unused0],[unused1]",
            "build-vocab --input_file=../in/corpus.txt --extend=../in/vocab.txt --output_file=extended.txt --vocab_size=900",
            "build-vocab --input_file=../in/corpus.txt --extend=cased.txt --output_file=filled.txt --do_lower_case=false",
            "build-vocab --input_file=- --output_file=typed.txt --min_count=1",
        ),
        stdin="one two three\none two\n",
    ),
    Scenario(
        "instances",
        (
            f"create-pretraining-data {_MASKS} --input_file=../in/corpus.txt --output_file=one.tfrecord --dupe_factor=2",
            f"create-pretraining-data {_MASKS} --input_file=../in/corpus.txt,../in/corpus2.txt --output_file=a.tfrecord@3"
            " --dupe_factor=1 --num_workers=2 --do_whole_word_mask --short_seq_prob=0.5",
            f"create-pretraining-data {_MASKS} --input_file=- --output_file=b.tfrecord,c.tfrecord --do_whole_word_mask"
            " --masked_lm_prob=0.3 --random_seed=3 --do_lower_case=false",
        ),
        stdin="The dog sees a cat .\nThe cat sleeps .\n\nMaria cleans the table .\nThe table is old .\nIt is warm .\n",
    ),
    Scenario(
        "pretrain",
        (
            f"create-pretraining-data {_MASKS} --input_file=../in/corpus.txt --output_file=a.tfrecord --dupe_factor=1",
            f"{_PRETRAIN} --input_file=a.tfrecord --do_train --do_eval --output_dir=o --num_train_steps=6"
            " --save_checkpoints_steps=3",
            f"{_PRETRAIN} --input_file=a.tfrecord --do_train --do_eval --output_dir=o --num_train_steps=9"
            " --save_checkpoints_steps=3",
            "pretrain --input_file=a.tfrecord --do_eval --output_dir=o --max_eval_steps=2 --eval_batch_size=4",
            "fill-mask 'the dog [MASK] a [MASK] .' 'It was cold. ||| The [MASK] stayed.' --init_checkpoint=o --top_k=3",
            "fill-mask --input_file=../in/masked.txt --init_checkpoint=o",
            "extract-features --input_file=../in/texts.txt --output_file=pooler.npz --output_format=npz --pooling=pooler"
            " --init_checkpoint=o",
        ),
    ),
    Scenario(
        "convert",
        (
            f"{_PRETRAIN} --input_file=../in/corpus.txt --do_train --output_dir=o --num_train_steps=8 --report=false"
            " --save_checkpoints_steps=4",
            "convert --from=o --to=hf --check",
            "convert --from=hf --to=google/bert_model.ckpt",
            "convert --from=hf --to=keras/bert.weights.h5 --check",
            "convert --from=keras/bert.weights.h5 --to=half --float16 --head=masked_lm",
            "convert --from=o --to=bhalf --bfloat16 --head=encoder",
            "convert --from=o/model.ckpt-8 --to=mean --average_last=2 --resize_vocab=840 --resize_positions=150",
            "convert --from=o --to=module --to_format=hub",
            "convert --from=module --to=from_module --check",
            "export --format=hub --init_checkpoint=o --export_dir=modules",
            "export --format=onnx --init_checkpoint=google/bert_model.ckpt --export_dir=onnx --quantize=int8",
            "classify --task_name=cola --data_dir=../in/cola --do_train --do_eval --output_dir=tuned --hub_module=module"
            " --max_seq_length=16 --num_train_epochs=0.5 --report=false",
            "extract-features --input_file=../in/texts.txt --output_file=module.jsonl --hub_module=modules/encoder"
            " --pooling=mean",
        ),
    ),
    Scenario(
        "pretrain-text",
        (
            f"{_PRETRAIN} --input_file=../in/corpus.txt --do_train --do_eval --output_dir=o --num_train_steps=6"
            " --do_whole_word_mask --eval_every=3 --eval_share=0.2 --label_smoothing=0.1",
            f"{_PRETRAIN} --input_file=../in/corpus.txt --eval_file=../in/corpus2.txt --do_train --do_eval --no_nsp"
            " --output_dir=no_nsp --num_train_steps=4 --optimizer=lamb --precision=float32 --random_seed=5",
        ),
    ),
    Scenario(
        "features",
        (
            f"{_FEATURES} --output_file=tokens.jsonl --layers=-1,-2",
            f"{_FEATURES} --output_file=attention.npz --output_format=npz --attentions=links.npz --layers=embedding,1-2",
            f"{_FEATURES} --output_file=words.jsonl --words --combine=mean --layers=-2:-1 --long_text",
            f"{_FEATURES} --output_file=mean.npy --output_format=npy --pooling=mean --normalize --float16",
            f"{_FEATURES} --output_file=max.tfrecord --output_format=tfrecord --pooling=max",
            f"{_FEATURES} --output_file=pooler.parquet --output_format=parquet --pooling=pooler",
            f"{_FEATURES} --output_file=- --pooling=cls --precision=bfloat16",
            "extract-features --show_attention='the cat sees a dog' --layer=1 --head=2 --top_k=4",
            # The files of a killed run, after four lines.
            "python import pathlib, subprocess, sys, time\n"
            "start = 'from bert_cli.extract_features import main; main()'\n"
            "flags = ['--input_file=../in/texts.txt', '--max_seq_length=16', '--output_file=part.jsonl', '--layers=-1,-2']\n"
            "run = subprocess.Popen([sys.executable, '-c', start, *flags], stderr=subprocess.DEVNULL)\n"
            "while run.poll() is None and not pathlib.Path('part.jsonl.partial.flags').exists(): time.sleep(0.002)\n"
            "run.kill()\n"
            "lines = pathlib.Path('tokens.jsonl').read_text().splitlines(keepends=True)\n"
            "run.wait()\n"
            "pathlib.Path('part.jsonl.partial').write_text(''.join(lines[:4]))",
            f"{_FEATURES} --output_file=part.jsonl --layers=-1,-2 --resume",
        ),
    ),
    Scenario(
        "features-onnxruntime",
        (
            f"{_FEATURES} --output_file=tokens.npz --output_format=npz --engine=onnxruntime --layers=all",
            f"{_FEATURES} --output_file=cls.jsonl --pooling=cls --engine=onnxruntime --layers=-1,-2",
            f"{_FEATURES} --output_file=int8.npy --output_format=npy --pooling=mean --precision=int8",
            f"{_FEATURES} --output_file=words.jsonl --words --precision=int8",
            "extract-features --input_file=../in/part-*.txt --output_file=parts.npy --output_format=npy --pooling=mean"
            " --engine=onnxruntime --shard=1/2",
            "extract-features --input_file=../in/part-*.txt --output_file=parts.npy --output_format=npy --pooling=mean"
            " --engine=onnxruntime",
            "extract-features --input_file=- --output_file=- --pooling=max --engine=onnxruntime --long_text",
        ),
        stdin="the dog sees a cat .\n\na first text ||| and a second one\n",
    ),
    Scenario(
        "export",
        (
            f"{_COLA} --do_train --output_dir=o --report=false",
            "export --init_checkpoint=o --export_dir=serving/1",
            "export --init_checkpoint=o --export_dir=serving/1 --max_seq_length=16 --overwrite",
            "export --format=onnx --init_checkpoint=o --export_dir=onnx --quantize=int8",
            "export --format=hub --init_checkpoint=o --export_dir=modules",
            "convert --from=o --to=hf --check",
            "convert --from=hf --to=back/bert_model.ckpt",
        ),
    ),
    Scenario(
        "prepare",
        (
            "prepare ../in/cola/train.tsv tables --header=no --id_column=0 --text_column=3 --label_column=1 --test_split=0.1",
            "prepare ../in/reviews.csv few --max_rows=30 --balance --dev_split=0.3 --random_seed=4",
            "prepare ../in/pairs.jsonl pairs --text_column=first --label_column=same --text_b_column=second",
        ),
    ),
    # Python.
    Scenario(
        "python-classifier",
        (
            "python from bert_cli import Classifier\n"
            "options = dict(init_checkpoint='random', bert_config_file='../in/tiny.json', vocab_file='../in/vocab.txt')\n"
            "options['train_batch_size'] = 4\n"
            "texts = ['a fine film', 'dull and much too long', 'I liked every minute', 'never again'] * 4\n"
            "labels = ['good', 'bad', 'good', 'bad'] * 4\n"
            "made = Classifier.fit(texts, labels, num_train_epochs=3, output_dir='o', **options)\n"
            "found = made.predict(texts[:4])\n"
            "print(made.labels, found.best, found.probabilities.tolist())\n"
            "for engine in ('tensorflow', 'onnxruntime'):\n"
            "    print(Classifier.load('o', engine=engine).predict(['a text', 'another text']))\n"
            "numbers = Classifier.fit(texts, [0.5, 1.5, 2.5, 3.5] * 4, texts[:4], [0.5, 1.5, 2.5, 3.5], **options)\n"
            "print(numbers.predict(texts[:2]).values.tolist(), sorted(numbers.report['eval'].items()))\n"
            "several = Classifier.fit(texts, [['a'], ['a', 'b'], [], ['b']] * 4, num_train_epochs=1, **options)\n"
            "print(several.problem_type, several.predict(texts[:2]))\n"
            "rows = [{'text': text, 'label': label} for text, label in zip(texts, labels)]\n"
            "print(Classifier.train(rows, rows[:4], num_train_epochs=1, **options).predict(['a text']))\n",
            "python from bert_cli import Classifier\n"
            "for call in (lambda: Classifier.load('nowhere'), lambda: Classifier.fit(['a', 'b'], ['x']),\n"
            "             lambda: Classifier.fit(['a', 'b'], ['x', 'y'], num_epochs=3)):\n"
            "    try: call()\n"
            "    except Exception as error: print(type(error).__name__, error)",
        ),
    ),
    Scenario(
        "python-others",
        (
            "python from bert_cli import FeatureExtractor, QuestionAnswerer, Tagger\n"
            "options = dict(init_checkpoint='random', bert_config_file='../in/tiny.json', vocab_file='../in/vocab.txt')\n"
            "options['train_batch_size'] = 4\n"
            "sentences = [(['Anna', 'left', 'Lund', '.'], ['B-PER', 'O', 'B-LOC', 'O'])] * 6\n"
            "made = Tagger.train(sentences, sentences[:2], num_train_epochs=2, output_dir='tag', **options)\n"
            "print(made.labels, made.tag(['Anna met Grace in Lund .', '']))\n"
            "print(Tagger.load('tag', decoding='viterbi', engine='onnxruntime').tag(['Anna met Grace .']))\n"
            "answers = QuestionAnswerer.train('../in/squad/train.json', '../in/squad/dev.json', num_train_epochs=0.3,\n"
            "                                 max_seq_length=64, max_query_length=16, output_dir='squad', **options)\n"
            "print(answers.answer([('Who left it?', 'Tom left it.')]))\n"
            "print(QuestionAnswerer.load('squad', engine='onnxruntime').answer([('Who left it?', 'Tom left it.')]))\n"
            "print(FeatureExtractor.load('tag', pooling='mean', normalize=True).extract(['a text', ('a', 'pair')]).tolist())\n"
            "print(FeatureExtractor.load(pooling='none', layers='-1,-2').extract(['a text'])[0].vectors[:, :4].tolist())\n",
            "python from bert_cli import Tagger\n"
            "try: Tagger.train([(['a'], ['O', 'O'])])\n"
            "except Exception as error: print(type(error).__name__, error)",
        ),
    ),
    # Wrong command lines: exit codes and error messages.
    Scenario(
        "errors",
        (
            "classify",
            "classify --do_trian",
            "classify --do_train False",
            "classify --do_train --max_seq_length=many",
            "classify --do_train --max_seq_length=0",
            "classify --do_train --quiet --verbose",
            "classify --do_train --task_name=none",
            "classify --do_train --task_name=cola --data_dir=nowhere",
            "classify --do_train --train_file=nowhere.csv",
            "classify --do_train --train_file=../in/reviews.csv --text_column=none",
            "classify --do_train --train_file=../in/bad.tsv --text_column=0 --label_column=1",
            "classify --do_train --train_file=../in/reviews.csv --class_weights=9=2",
            "classify --do_train --train_file=../in/reviews.csv --loss=focal --problem_type=regression",
            "classify --do_train --task_name=cola --data_dir=../in/cola --init_checkpoint=nowhere/bert_model.ckpt",
            "classify --do_train --task_name=cola --data_dir=../in/cola --labels=0,2",
            "classify --do_train --task_name=cola --data_dir=../in/cola --max_seq_length=600",
            "classify --do_predict --output_dir=nowhere",
            "classify --output_dir=nowhere --text 'a text'",
            "classify --do_train --task_name=cola --engine=onnxruntime",
            "classify --do_train --task_name=cola --precision=int8",
            "classify --flagfile=nowhere.txt",
            "tag --do_train --data_dir=nowhere",
            "tag --do_train --data_dir=../in/tagging --tag_column=7",
            "tag --do_train --data_dir=../in/tagging --layers=9 --init_checkpoint=random",
            "squad --do_train --output_dir=o",
            "squad --do_train --output_dir=o --train_file=../in/squad/train2.json",
            "squad --question='Who?' --output_dir=o",
            "squad --score_only --predictions_file=nowhere.json --predict_file=../in/squad/dev.json",
            "pretrain --do_train --output_dir=o",
            "pretrain --do_train --input_file=nowhere.txt --output_dir=o",
            "create-pretraining-data --input_file=../in/corpus.txt",
            "create-pretraining-data --input_file=../in/corpus.txt --vocab_file=../in/texts.txt --output_file=a",
            "build-vocab --input_file=nowhere.txt",
            "build-vocab --input_file=../in/corpus.txt --vocab_size=5 --output_file=v.txt",
            "fill-mask 'no blank here'",
            "fill-mask 'a [MASK] .' --init_checkpoint=nowhere",
            "extract-features --input_file=nowhere.txt --output_file=a.jsonl",
            "extract-features --input_file=../in/texts.txt --output_file=a.npy --output_format=npy",
            "extract-features --input_file=../in/texts.txt --output_file=a.jsonl --layers=77",
            "extract-features --input_file=../in/texts.txt --output_file=a.jsonl --shard=2/2",
            "export --export_dir=e --init_checkpoint=nowhere",
            "export --export_dir=e --format=none",
            "convert --from=nowhere --to=hf",
            "convert --to=hf",
            "prepare ../in/cola/train.tsv",
            "prepare nowhere.tsv tables",
            "report nowhere",
            "report",
            "python import runpy\nrunpy.run_module('bert_cli', run_name='__main__')",
        ),
    ),
    Scenario(
        "errors-folder",
        (
            f"{_COLA} --do_train --output_dir=o --report=false --num_train_epochs=0.3",
            f"{_COLA} --do_train --output_dir=o --report=false --num_train_epochs=0.3 --learning_rate=2e-3",
            f"{_CLASSIFY} --do_train --train_file=../in/reviews.csv --output_dir=o",
            f"{_TAG} --do_train --data_dir=../in/tagging --output_dir=o",
            "tag --output_dir=o --text 'a text'",
            "squad --output_dir=o --question='Who?' --context='Anna.'",
            "classify --output_dir=o --do_predict --predict_file=../in/bad.tsv",
            "classify --output_dir=o --do_eval --dev_file=../in/reviews.csv",
            "classify --output_dir=o --text 'a text' --init_checkpoint=o/model.ckpt-77",
            "convert --from=o --to=o/model.weights.h5 --head=tagger",
            "convert --from=o --to=hf --head=masked_lm",
            "export --init_checkpoint=o --export_dir=o",
            "python import pathlib\npath = next(pathlib.Path('o').glob('*.data*'))\npath.write_bytes(path.read_bytes()[:999])",
            "classify --output_dir=o --text 'a text'",
        ),
    ),
    *(
        Scenario(f"help-{name}", (f"{name} --help", f"{name} --helpfull", f"{name} --completion=bash"), category="help")
        for name in MODULES
    ),
)


def make_inputs(data: pathlib.Path, to: pathlib.Path) -> None:
    """Write small files in all formats that the scenarios read, always with the same bytes.

    They are made from the repository's data directory.
    """
    rows = [line.split("\t") for line in _lines(data / "train.tsv")[:400]]
    texts = [row[3] for row in rows]
    corpus = (data / "pretraining/corpus.txt").read_text(encoding="utf-8").split("\n\n")
    files = {
        "cola/train.tsv": _join(_lines(data / "train.tsv")[:200]),
        "cola/dev.tsv": _join(_lines(data / "dev.tsv")[:60]),
        "cola/test.tsv": _join(_lines(data / "test.tsv")[:31]),
        "reviews.csv": _join(
            ["stars,text", *(f'{number % 3},"{row[3]}, ""so""."' for number, row in enumerate(rows[:90]))]
        ),
        "multi.tsv": _join(
            [
                "id\ttext\ttoxic\trude",
                *(f"r{n}\t{row[3]}\t{row[1]}\t{int(n % 3 == 0)}" for n, row in enumerate(rows[:80])),
            ]
        ),
        "numbers.tsv": _join(["text\tscore", *(f"{text}\t{len(text) / 10}" for text in texts[:80])]),
        "choices.tsv": _join(
            [
                "start\tfirst\tsecond\tthird\tright",
                *("\t".join([*texts[n : n + 4], str(n % 3 + 1)]) for n in range(60)),
            ]
        ),
        "pairs.jsonl": _objects(
            {"id": f"p{n}", "first": texts[n], "second": texts[n + 1], "same": ["no", "yes"][n % 2]} for n in range(80)
        ),
        "pairs.txt": _join(f"{texts[n]} ||| {texts[n + 1]}" for n in range(6)),
        "long.tsv": _join(f"{'ab'[n % 2]}\t{' '.join(texts[n : n + 1 + n % 4])}" for n in range(60)),
        "lines.txt": _join(" ".join(texts[n : n + n]) for n in range(1, 6)),
        "texts.txt": _join([*texts[100:106], "", "naïve Überzüge ||| 東京 $5", *texts[106:110]]),
        "masked.txt": _join(["the dog [MASK] a cat .", "", "It was cold. ||| The [MASK] stayed ."]),
        "bad.tsv": "a text\t1\nanother text\t0\nwith a column\t1\ttoo many\nand then\t1\n",
        "sst-2/train.tsv": _join(["sentence\tlabel", *(f"{row[3]}\t{row[1]}" for row in rows[:80])]),
        "sst-2/dev.tsv": _join(["sentence\tlabel", *(f"{row[3]}\t{row[1]}" for row in rows[80:120])]),
        "sst-2/test.tsv": _join(["index\tsentence", *(f"{n}\t{text}" for n, text in enumerate(texts[120:140]))]),
        "corpus.txt": "\n\n".join(corpus[:60]) + "\n",
        "corpus2.txt": "\n\n".join(corpus[60:90]) + "\n",
        "questions.jsonl": _objects(
            [
                {"id": "q1", "question": "Who found the key?", "context": "On Monday Anna found a key."},
                {"id": "q2", "question": "What did Tom leave?", "context": "It was cold. Tom left a red hat."},
            ]
        ),
        "vocab.txt": _join(_vocabulary(texts, corpus[:60])),
        "tiny.json": json.dumps(_config(2)),
        "four.json": json.dumps(_config(4)),
    }
    files |= {f"part-{n}.txt": _join(texts[150 + 5 * n : 155 + 5 * n + n]) for n in range(3)}
    files |= {f"mnli/{name}.tsv": text for name, text in _mnli(texts).items()}
    for name, first, last in (("train", 0, 80), ("dev", 80, 110), ("test", 110, 130)):
        source = (data / "tagging/train.txt").read_text(encoding="utf-8").strip().split("\n\n")[first:last]
        files[f"tagging/{name}.txt"] = "\n\n".join(source) + "\n"
        sentences = [[line.split() for line in text.split("\n")] for text in source]
        files[f"tagging_json/{name}.jsonl"] = _objects(
            {"words": [word[0] for word in sentence], "tags": [word[-1] for word in sentence]} for sentence in sentences
        )
    for name, original, first, last in (
        ("train", "train", 0, 4),
        ("dev", "dev", 0, 2),
        ("train2", "dev-v2", 0, 4),
        ("dev2", "dev-v2", 4, 6),
    ):
        squad = json.loads((data / f"squad/{original}.json").read_text(encoding="utf-8"))
        paragraphs = [paragraph for article in squad["data"] for paragraph in article["paragraphs"]][
            3 * first : 3 * last
        ]
        for answers in (question["answers"] for paragraph in paragraphs for question in paragraph["qas"]):
            del answers[1 if name.startswith("train") else 3 :]
        files[f"squad/{name}.json"] = json.dumps(squad | {"data": [{"title": "t", "paragraphs": paragraphs}]})
    for name, text in files.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_text(text, encoding="utf-8")


def _lines(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _objects(objects: Iterable[dict]) -> str:
    return _join(json.dumps(value, ensure_ascii=False) for value in objects)


def _config(layers: int) -> dict:
    """Return a network that trains fast, with dropout, so that random numbers are compared, too."""
    return {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 32,
        "initializer_range": 0.1,
        "intermediate_size": 64,
        "max_position_embeddings": 128,
        "num_attention_heads": 2,
        "num_hidden_layers": layers,
        "type_vocab_size": 2,
    }


def _vocabulary(texts: list[str], documents: list[str]) -> list[str]:
    """Return special and unused tokens, characters, and words that occur more than once."""
    words = collections.Counter(" ".join([*texts, *documents]).lower().replace(".", " . ").replace(",", " , ").split())
    characters = sorted(set("".join(words)) | set("abcdefghijklmnopqrstuvwxyz0123456789"))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"[unused{n}]" for n in range(8))]
    tokens += [*characters, *(f"##{character}" for character in characters)]
    return tokens + sorted(word for word, count in words.items() if count > 1 and len(word) > 1)


def _mnli(texts: list[str]) -> dict[str, str]:
    """Return files in MNLI's format: texts in columns 8 and 9, the label in the last column."""
    labels = ("entailment", "neutral", "contradiction")
    files = {}
    for name, count in (
        ("train", 60),
        ("dev_matched", 20),
        ("dev_mismatched", 20),
        ("test_matched", 9),
        ("test_mismatched", 9),
    ):
        is_test = name.startswith("test")
        columns = 10 if is_test else 12 if name == "train" else 16
        rows = ["\t".join(["index", *(f"c{n}" for n in range(1, columns))])]
        for n in range(count):
            row = [str(n), *(["-"] * 7), texts[n], texts[n + 3], *(["-"] * (columns - 10))]
            if not is_test:
                row[-1] = labels[n % 3]
            rows.append("\t".join(row))
        files[name] = _join(rows)
    return files
