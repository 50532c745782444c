"""Command lines that new users paste, with their translations by --from_command."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Pasted:
    """A pasted command line.

    Attributes:
        command: our command.
        text: the line, with this repository's data if the translation can run.
        ours: the first line that --from_command prints.
        remarks: beginnings of its comments, in order.
        missing: part of the translation's error; "" if it runs, None if it is not tried.
        extra: flags that make the run short.
    """

    command: str
    text: str
    ours: str
    remarks: tuple[str, ...] = ()
    missing: str | None = None
    extra: tuple[str, ...] = ()


_SHORT = ("--num_train_epochs=0.02", "--keep_checkpoint_max=1", "--report=false")
_ACCELERATE = r"""
export MODEL=bert_cli/builtin/pretrained

accelerate launch --mixed_precision bf16 --num_processes 2 run_glue_no_trainer.py \
  --model_name_or_path $MODEL \
  --train_file reviews_train.csv --validation_file reviews_dev.csv \
  --max_length 64 \
  --per_device_train_batch_size 16 \
  --learning_rate 2e-5 \
  --num_train_epochs 3 \
  --max_train_steps 40 --num_warmup_steps 4 \
  --checkpointing_steps epoch \
  --with_tracking \
  --output_dir out/
"""
_TORCHRUN = r"""
CUDA_VISIBLE_DEVICES=-1 TOKENIZERS_PARALLELISM=false torchrun --standalone --nproc_per_node=2 run_ner_no_trainer.py \
  --model_name_or_path bert_cli/builtin/pretrained \
  --tokenizer_name bert_cli/builtin/pretrained \
  --train_file data/tagging/train.txt --validation_file data/tagging/dev.txt \
  --label_all_tokens --max_length 64 --output_dir out --use_slow_tokenizer 2>&1 | tee log.txt
"""
_DOCKER = r"""
model=BAAI/bge-large-en-v1.5
volume=$PWD/data

docker run --gpus all -e CUDA_VISIBLE_DEVICES=0 -e POOLING=cls -p 127.0.0.1:8080:80 -v $volume:/data --pull always \
  ghcr.io/huggingface/text-embeddings-inference:cpu-1.8 --model-id $model --revision refs/pr/5 \
  --max-client-batch-size 1100 --max-batch-tokens 1100
"""
_GARDEN = (
    "python3 train.py --experiment=bert/sentence_prediction --mode=train_and_eval --model_dir=out "
    "--config_file=configs/glue.yaml --params_override=task.train_data.input_path=train.tf_record,"
    "task.train_data.global_batch_size=32,trainer.train_steps=1000,"
    "trainer.optimizer_config.warmup.polynomial.warmup_steps=100,runtime.distribution_strategy=one_device,"
    "task.init_checkpoint=bert_cli/builtin/pretrained"
)
_TRAINING = "--learning_rate=5e-5 --num_train_epochs=3"

PASTED = [
    Pasted(
        "bert-classify", _ACCELERATE,
        "bert-classify --init_checkpoint=bert_cli/builtin/pretrained --train_file=reviews_train.csv "
        "--dev_file=reviews_dev.csv --max_seq_length=64 --train_batch_size=32 --learning_rate=2e-5 "
        "--num_train_epochs=3 --output_dir=out/ --weight_decay=0 --bias_correction --warmup_proportion=0.1 "
        "--precision=bfloat16 --do_train --do_eval",
        ("# --train_batch_size: the batch of an update, 16 x 2", "# --max_train_steps=40", "# --with_tracking: "),
        "", _SHORT,
    ),
    Pasted(
        "bert-tag", _TORCHRUN,
        "CUDA_VISIBLE_DEVICES=-1 bert-tag --init_checkpoint=bert_cli/builtin/pretrained "
        "--train_file=data/tagging/train.txt --dev_file=data/tagging/dev.txt --label_all_pieces --max_seq_length=64 "
        f"--output_dir=out {_TRAINING} --train_batch_size=16 --warmup_proportion=0 --weight_decay=0 --do_train "
        "--do_eval",
        (
            "# --train_batch_size: the batch of an update, 8 x 2", "# --use_slow_tokenizer: ", "# --standalone: ",
            "# TOKENIZERS_PARALLELISM: ", "# 2>&1 | tee log.txt: is for the shell; add it again",
        ),
        "", _SHORT,
    ),
    Pasted(
        "bert-squad",
        "python -m torch.distributed.launch --nproc_per_node=2 run_squad.py --model_type bert "
        "--model_name_or_path bert_cli/builtin/pretrained --do_train --do_eval --do_lower_case "
        "--train_file data/squad/train.json --predict_file data/squad/dev.json --learning_rate 3e-5 "
        "--num_train_epochs 2 --max_seq_length 128 --doc_stride 64 --output_dir out --per_gpu_train_batch_size 4 "
        "--gradient_accumulation_steps 2",
        "bert-squad --init_checkpoint=bert_cli/builtin/pretrained --do_train --do_eval --do_lower_case "
        "--train_file=data/squad/train.json --predict_file=data/squad/dev.json --learning_rate=3e-5 "
        "--num_train_epochs=2 --max_seq_length=128 --doc_stride=64 --output_dir=out --train_batch_size=16 "
        "--gradient_accumulation_steps=2 --warmup_proportion=0 --weight_decay=0 --bias_correction",
        ("# --train_batch_size: the batch of an update, 4 x 2 x 2", "# --model_type: "),
        "", _SHORT,
    ),
    Pasted(
        "bert-pretrain",
        "!python run_language_modeling.py --output_dir=out --model_type=bert "
        "--model_name_or_path=bert_cli/builtin/pretrained --do_train --train_data_file=data/pretraining/corpus.txt "
        "--mlm --line_by_line --block_size 64 --max_steps 5 --no_remove_unused_columns",
        "bert-pretrain --output_dir=out --init_checkpoint=bert_cli/builtin/pretrained --do_train "
        "--input_file=data/pretraining/corpus.txt --line_by_line --max_seq_length=64 --num_train_steps=5 "
        "--learning_rate=5e-5 --train_batch_size=8 --num_warmup_steps=0 --weight_decay=0 --bias_correction --no_nsp",
        ("# --model_type: ", "# --mlm: ", "# --no_remove_unused_columns: "),
        "", ("--report=false",),
    ),
    Pasted(
        "bert-classify", "python run_glue.py arguments.json",
        "bert-classify --init_checkpoint=bert_cli/builtin/pretrained --train_file=reviews_train.csv "
        "--dev_file=reviews_dev.csv --do_train --do_eval --max_seq_length=48 --output_dir=out --train_batch_size=8 "
        f"{_TRAINING} --warmup_proportion=0 --weight_decay=0 --bias_correction",
        ("# --push_to_hub: ",),
        "", _SHORT,
    ),
    Pasted(
        "bert-classify",
        "python run_swag.py --model_name_or_path bert_cli/builtin/pretrained --do_train --do_eval "
        "--per_device_train_batch_size=16 --output_dir out --overwrite_output",
        "bert-classify --init_checkpoint=bert_cli/builtin/pretrained --do_train --do_eval --train_batch_size=16 "
        f"--output_dir=out --overwrite_output_dir {_TRAINING} --warmup_proportion=0 --weight_decay=0 "
        "--max_seq_length=512 --bias_correction --task_name=swag",
        ("# the columns are SWAG's; --data_dir",),
        "data/train.csv: no such file; check --data_dir",
    ),
    Pasted(
        "bert-classify",
        "python run_xnli.py --model_name_or_path bert_cli/builtin/pretrained --language de --train_language en "
        "--do_train --do_eval --per_device_train_batch_size 32 --max_seq_length 128 --output_dir out",
        "bert-classify --init_checkpoint=bert_cli/builtin/pretrained --language=de --do_train --do_eval "
        f"--train_batch_size=32 --max_seq_length=128 --output_dir=out {_TRAINING} --warmup_proportion=0 "
        "--weight_decay=0 --bias_correction --task_name=xnli",
        ("# --train_language: the training and the evaluation have one language",),
        "multinli.train.de.tsv",
    ),
    Pasted(
        "bert-classify", _GARDEN,
        "bert-classify --do_train --do_eval --output_dir=out --train_file=train.tf_record --train_batch_size=32 "
        "--distribution_strategy=one_device --init_checkpoint=bert_cli/builtin/pretrained --learning_rate=3e-5 "
        "--bias_correction --warmup_proportion=0.1",
        ("# --experiment: ", "# --config_file: YAML is not read", "# --trainer.train_steps=1000", "# --train_file is a table"),
        "train.tf_record",
    ),
    Pasted(
        "bert-train-vectors", "python training_stsbenchmark.py bert_cli/builtin/pretrained",
        "bert-train-vectors --init_checkpoint=bert_cli/builtin/pretrained --num_train_epochs=4 --train_batch_size=16 "
        "--do_train --do_eval --loss=cosine",
        ("# --train_file and --dev_file name tables",),
        "divide the scores by the largest one", (
            "--train_file=data/similarity/scored_train.tsv", "--dev_file=data/similarity/scored_dev.tsv",
            "--output_dir=out", *_SHORT,
        ),
    ),
    Pasted(
        "bert-export", "optimum-cli export onnx -m bert_cli/builtin/pretrained --task feature-extraction --monolith "
        "--device cpu onnx/",
        "bert-export --init_checkpoint=bert_cli/builtin/pretrained --export_dir=onnx/ --format=onnx "
        "--names=hugging_face",
        ("# --task: ", "# --monolith: ", "# --device: "),
        "",
    ),
    Pasted(
        "bert-export", "optimum-cli onnxruntime quantize --avx512 --onnx_model bert_cli/builtin/pretrained -o quantized",
        "bert-export --quantize=int8 --init_checkpoint=bert_cli/builtin/pretrained --export_dir=quantized "
        "--format=onnx --names=hugging_face",
        ("# --init_checkpoint=bert_cli/builtin/pretrained: a checkpoint: an export starts from the weights",),
        "",
    ),
    Pasted(
        "bert-export",
        "optimum-cli export openvino --model distilbert-base-uncased-finetuned-sst-2-english --weight-format int8 ov",
        "bert-export --init_checkpoint=hf:distilbert-base-uncased-finetuned-sst-2-english --quantize=int8 "
        "--export_dir=ov --format=onnx --names=hugging_face",
        ("# --init_checkpoint: downloads the model", "# OpenVINO reads the ONNX file"),
    ),
    Pasted(
        "bert-export", "python -m tf2onnx.convert --saved-model model_dir-1 --opset 13 --output model.onnx",
        "bert-export --init_checkpoint=model_dir-1 --export_dir=model --format=onnx",
        ("# --init_checkpoint=model_dir-1: a checkpoint", "# --opset: graphs have opset 20"),
        "model_dir-1",
    ),
    Pasted(
        "bert-convert", "transformers-cli convert --model_type bert \\\n  --tf_checkpoint $BERT_BASE_DIR/bert_model.ckpt "
        "\\\n  --config $BERT_BASE_DIR/bert_config.json \\\n  --pytorch_dump_output $BERT_BASE_DIR/pytorch_model.bin",
        'bert-convert "--from=$BERT_BASE_DIR/bert_model.ckpt" "--bert_config_file=$BERT_BASE_DIR/bert_config.json" '
        '"--to=$BERT_BASE_DIR/pytorch_model"',
        ("# --model_type: ",),
    ),
    Pasted(
        "bert-convert", "python convert_bert_pytorch_checkpoint_to_original_tf.py --model_name bert-base-uncased "
        "--pytorch_model_path bert_cli/builtin/pretrained --tf_cache_dir tf",
        "bert-convert --from=bert_cli/builtin/pretrained --to=tf --to_format=tf1",
        (),
        "",
    ),
    Pasted(
        "bert-serve", "bert-serving-start -model_dir bert_cli/builtin/pretrained -num_worker=4 -max_seq_len=NONE "
        "-show_tokens_to_client -pooling_layer -4 -3 -2 -1 -http_port 8125",
        "bert-serve --output_dir=bert_cli/builtin/pretrained --num_workers=4 --layers=-4,-3,-2,-1 --port=8125 "
        "--pooling=mean",
        ("# --show_tokens_to_client: ",),
    ),
    Pasted(
        "bert-extract-features",
        "bert-serving-start –model_dir bert_cli/builtin/pretrained -pooling_strategy NONE -cpu",
        "bert-extract-features --init_checkpoint=bert_cli/builtin/pretrained --pooling=none --max_seq_length=25 "
        "--layers=-2",
        ("# --cpu: ", "# before it runs: --input_file is needed", "# before it runs: --output_file is needed"),
        "--input_file",
    ),
    Pasted(
        "bert-serve", _DOCKER,
        "CUDA_VISIBLE_DEVICES=0 bert-serve --pooling=cls --output_dir=hf:BAAI/bge-large-en-v1.5@refs/pr/5 "
        "--max_texts=1100 --port=8080",
        (
            "# --max_batch_tokens: ", "# --output_dir: downloads", "# --gpus: ", "# --port=8080: of the machine",
            "# -v: is of the container", "# --pull: ",
        ),
    ),
]  # fmt: skip
