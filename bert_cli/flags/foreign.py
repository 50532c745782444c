"""Flags of other programs, and the flags to use instead.

The programs are scripts by Hugging Face and NVIDIA, TensorFlow's model garden, forks of Google's
scripts, and bert-as-service.
"""

import re
from collections.abc import Collection, Sequence

from bert_cli.base.errors import mentioned_flags

_LEAST_SIMILARITY = 0.85  # difflib's ratio; lower guesses are mostly wrong (max_steps and max_texts: 0.78)
_MAX_NAMES = 20  # unknown flags in a message
_LEAST_PREFIX = 4  # letters of an abbreviated flag
_NEEDS_NONE = "it needs no flag here; leave it out"
_COUNTS_EPOCHS = "--num_train_epochs, which counts epochs"
_BATCHES = (
    "--train_batch_size, --eval_batch_size or --predict_batch_size",
    "--train_batch_size or --predict_batch_size",
    "--train_batch_size or --eval_batch_size",
)
_EVALUATION_BATCH = ("--eval_batch_size", "--predict_batch_size", "--batch_size")
_DEV_FILE = ("--dev_file", "--predict_file", "--eval_file")
_OUTPUT = ("--output_dir", "--output_file", "--to")
_RESUMING = "the same command with the same --output_dir resumes an interrupted run"
_DOWNLOADS = "data sets are not downloaded; name files with"
_FROM_DATA = "the labels come from the data; --labels gives them in another order"
_PROMPTS = "the prompts are in config_sentence_transformers.json"
_GPU = "a GPU is used if there is one; --distribution_strategy chooses among several"

# Flag names -> pieces of advice, best first. A command uses the first piece that names only flags
# it has. Advice that begins with a flag names a replacement with the same effect.
_ROWS: tuple[tuple[str, Sequence[str]], ...] = (
    # The model.
    (
        "model_name_or_path bert_model pretrained_model_name_or_path pretrained_model model_name model_path bert_path "
        "pretrained_path model checkpoint checkpoint_path ckpt load_model predict_checkpoint_path bert_init_checkpoint",
        ("--init_checkpoint", "--output_dir", "--from"),
    ),
    ("model_dir", ("--output_dir", "--init_checkpoint", "--from")),
    ("hub_module_url hub_module_handle", ("--hub_module", "--from")),
    ("model_type bert_type arch", ("the architecture comes from the model's config; leave it out",)),
    ("tokenizer_name tokenizer vocab vocab_path vocabulary", ("--vocab_file",)),
    ("config_name config config_file bert_config config_path", ("--bert_config_file",)),
    ("do_lower lower_case lowercase uncased", ("--do_lower_case",)),
    ("cased do_cased", ("--do_lower_case=false",)),
    (
        "use_fast_tokenizer model_revision token use_auth_token trust_remote_code cache_dir overwrite_cache "
        "ignore_mismatched_sizes input_meta_data_path low_cpu_mem_usage torch_dtype",
        (_NEEDS_NONE,),
    ),
    # The data.
    ("validation_file valid_file val_file dev_path eval_data_path valid_path val_path", _DEV_FILE),
    ("dev_file", ("--predict_file", "--eval_file")),
    # An argument of Keras' fit, and one of Hugging Face's Trainer.
    (
        "validation_data eval_dataset",
        ("--dev_file", "held-out data are dev_texts and dev_labels of fit, or dev of train"),
    ),
    ("eval_file", ("--dev_file", "--predict_file")),
    ("train_path train_data_path training_file train_data", ("--train_file", "--input_file")),
    ("test_path test_data predict_data_path", ("--test_file", "--predict_file")),
    ("data_path input_dir", ("--data_dir", "--train_file", "--input_file")),
    ("data_dir", ("--train_file and --predict_file", "--input_file")),
    ("input input_files input_path corpus", ("--input_file", "--train_file", "--from")),
    (
        "dataset_name dataset_config_name dataset",
        (f"{_DOWNLOADS} --data_dir or --train_file", f"{_DOWNLOADS} --train_file", f"{_DOWNLOADS} --input_file"),
    ),
    ("task_name task", ("this command has a single task; leave it out",)),
    (
        "max_seq_len max_length max_len max_sequence_length seq_length maxlen sequence_length block_size",
        ("--max_seq_length", "texts are cut to the model's own length; leave it out"),
    ),
    ("max_answer_len", ("--max_answer_length",)),
    ("pad_to_max_length", (_NEEDS_NONE,)),
    # run_ner's column of words.
    ("text_column_name", ("--word_column", "--text_column")),
    ("sentence_column text_column_names", ("--text_column", "--word_column")),
    ("label_column_name label_column_names", ("--label_column", "--tag_column")),
    ("label_all_tokens", ("--label_all_pieces",)),
    ("label_list num_labels num_classes n_classes", (_FROM_DATA,)),
    ("multilabel multi_label", ("--problem_type=multi_label",)),
    ("is_regression do_regression regression", ("--problem_type=regression",)),
    (
        "validation_split_percentage validation_split val_split test_size dev_size dev_ratio val_ratio",
        ("--dev_split", "--eval_share"),
    ),
    ("k_fold kfold folds num_folds n_folds n_splits cv", ("--cross_validation",)),
    (
        "max_train_samples max_eval_samples max_predict_samples max_train_examples",
        ("all rows are read; bert-prepare selects a number of them",),
    ),
    ("preprocessing_num_workers dataloader_num_workers threads", ("--num_workers", _NEEDS_NONE)),
    ("num_worker", ("--num_workers",)),
    # Training.
    ("per_device_train_batch_size per_gpu_train_batch_size train_bs", ("--train_batch_size, over all devices",)),
    ("per_device_eval_batch_size per_gpu_eval_batch_size eval_bs test_batch_size", _EVALUATION_BATCH),
    ("batch_size", _BATCHES),
    ("bs", (*_BATCHES, "--batch_size")),
    ("epochs num_epochs n_epochs num_train_epoch epoch", ("--num_train_epochs", "--num_train_steps")),
    ("max_steps num_steps train_steps max_train_steps num_steps_per_epoch", ("--num_train_steps", _COUNTS_EPOCHS)),
    ("lr", ("--learning_rate",)),
    ("lr_scheduler_type scheduler lr_scheduler", ("--lr_schedule",)),
    ("warmup_ratio warmup warmup_prop", ("--warmup_proportion", "--num_warmup_steps")),
    ("warmup_steps", ("--num_warmup_steps", "--warmup_proportion, a fraction of the steps")),
    ("num_accumulation_steps grad_accum_steps accumulation_steps", ("--gradient_accumulation_steps",)),
    ("gradient_checkpointing recompute_activations", ("--recompute=layers",)),
    ("auto_find_batch_size", ("--auto_batch",)),
    ("optim optimizer_type optimizer_name", ("--optimizer",)),
    (
        "adam_epsilon adam_beta1 adam_beta2 max_grad_norm clip grad_clip max_gradient_norm",
        ("it is fixed and has no flag; leave it out",),
    ),
    ("wd l2", ("--weight_decay",)),
    ("deepspeed fsdp fsdp_config", ("a model is not divided among devices here; leave it out",)),
    ("peft use_peft lora use_lora lora_r lora_rank", ("--lora_rank", "there are no adapters here; leave it out")),
    ("lora_target_modules target_modules", ("--lora_targets", "there are no adapters here; leave it out")),
    ("lora_dropout", ("adapters have no dropout; leave it out",)),
    ("neftune_noise_alpha", ("there is no noise on embeddings; leave it out",)),
    ("shuffle_train_dataset", ("training rows are always shuffled; leave it out",)),
    ("label_smoothing_factor", ("--label_smoothing",)),
    ("dropout dropout_rate droupout_rate hidden_dropout", ("--classifier_dropout", "--hidden_dropout_prob")),
    ("use_focal_loss focal_loss focal", ("--loss=focal",)),
    ("class_weight weighted_loss", ("--class_weights",)),
    ("layer_decay llrd layerwise_learning_rate_decay", ("--layerwise_lr_decay",)),
    ("freeze_bert freeze freeze_base_model", ("--freeze_encoder",)),
    ("seed data_seed random_state", ("--random_seed",)),
    ("teacher_model teacher teacher_name_or_path teacher_model_name_or_path", ("--distill_from",)),
    ("temperature", ("--distill_temperature",)),
    (
        "evaluation_strategy eval_strategy eval_steps evaluate_during_training load_best_model_at_end",
        ("--eval_every, which also keeps the best checkpoint",),
    ),
    ("metric_for_best_model", ("--metric_for_best",)),
    (
        "metric_name eval_metric",
        (
            "all metrics are reported; --metric_for_best chooses the best checkpoint",
            "all metrics are reported; leave it out",
        ),
    ),
    ("greater_is_better", ("the direction of --metric_for_best is known; leave it out",)),
    ("patience early_stopping", ("--early_stopping_patience",)),
    ("save_steps save_strategy checkpoint_steps", ("--save_checkpoints_steps",)),
    ("save_total_limit max_to_keep", ("--keep_checkpoint_max",)),
    ("logging_steps logging_strategy display_loss_steps", ("--log_steps",)),
    ("logging_dir tensorboard_dir use_tensorboard", ("--tensorboard",)),
    ("resume_from_checkpoint resume recover", (_RESUMING,)),
    ("do_test do_infer predict", ("--do_predict",)),
    ("train", ("--do_train",)),
    ("mode", ("--do_train, --do_eval and --do_predict", "--do_train and --do_eval")),
    (
        "run_name push_to_hub hub_model_id hub_token group_by_length remove_unused_columns prediction_loss_only "
        "eval_all_checkpoints return_entity_level_metrics debug_mode allreduce_post_accumulation report_loss "
        "dllog_path ner middle_output middle_output_dir steps_per_loop torch_compile data_config_path local_files_only",
        (_NEEDS_NONE,),
    ),
    ("save_dir out_dir out output output_path export_path model_save_path", (*_OUTPUT, "--export_dir")),
    ("overwrite overwrite_output", ("--overwrite_output_dir",)),
    # Devices.
    ("fp16 use_fp16 amp half manual_fp16 use_amp", ("--precision=float16", "--float16")),
    ("bf16 use_bf16", ("--precision=bfloat16", "--bfloat16")),
    ("dtype half_precision_backend fp16_opt_level fp16_backend loss_scale", ("--precision",)),
    ("tf32", ("there is no flag for TF32; leave it out",)),
    ("use_xla enable_xla xla jit_compile", ("there is no flag for XLA; leave it out",)),
    (
        "use_gpu use_cuda device device_map gpu gpus gpu_id gpu_ids n_gpu num_gpus cuda use_multi_gpu",
        (_GPU, "a GPU is used if there is one; leave it out"),
    ),
    ("no_cuda use_cpu cpu", ("CUDA_VISIBLE_DEVICES=-1 in the environment hides the GPUs",)),
    ("local_rank horovod use_horovod strategy strategy_type", ("--distribution_strategy",)),
    # Tags.
    (
        "crf use_crf with_crf",
        ("there is no CRF; --decoding=viterbi forbids impossible sequences", "there is no CRF; leave it out"),
    ),
    (
        "rnn lstm use_lstm lstm_size bilstm cell",
        ("there is no layer between BERT and the classifier; leave it out",),
    ),
    ("scheme", ("--tag_scheme",)),
    # Pre-training and vectors.
    ("mlm_probability masked_lm_probability mask_prob", ("--masked_lm_prob",)),
    ("whole_word_mask wwm whole_word_masking", ("--do_whole_word_mask",)),
    ("short_seq_probability", ("--short_seq_prob",)),
    ("duplicate_factor dup_factor", ("--dupe_factor",)),
    ("max_predictions max_pred", ("--max_predictions_per_seq",)),
    ("mlm line_by_line", (_NEEDS_NONE,)),
    (
        "pooling_strategy",
        (
            "--pooling",
            "the model's modules.json chooses the pooling, or else it is the mean; bert-extract-features --pooling=cls "
            "computes others",
        ),
    ),
    (
        "pooling_layer layer_indexes",
        ("--layers", "the last layer is computed; bert-extract-features --layers=-2 --pooling=mean computes others"),
    ),
    ("normalize_embeddings", ("--normalize",)),
    # Servers: bert-as-service and text-embeddings-inference.
    ("http_port", ("--port",)),
    ("model_id tuned_model_dir", ("--output_dir", "--init_checkpoint", "--from")),
    ("hostname", ("--host",)),
    ("max_client_batch_size", ("--max_texts",)),
    ("max_concurrent_requests", ("--max_queue",)),
    ("payload_limit", ("--max_body_bytes",)),
    ("prometheus_port", ("--metrics_port",)),
    ("cors_allow_origin cors", ("--allowed_origins",)),
    ("json_output", ("--log_format=json",)),
    ("served_model_name", ("--model=NAME=DIRECTORY",)),
    ("default_prompt_name", ("--prompt_name", _PROMPTS)),
    ("default_prompt", (f"{_PROMPTS}, and --prompt_name names one of them", _PROMPTS)),
    ("api_key", ("--api_key_file, a file with keys",)),
    ("cased_tokenization", ("--do_lower_case=false",)),
    ("auto_truncate", ("texts are cut to --max_seq_length, and answers say so", _NEEDS_NONE)),
    ("ckpt_name", ("the checkpoint is named together with its directory; leave it out",)),
    ("dense_path", ("the model's modules.json names its dense layers; leave it out",)),
    (
        "mask_cls_sep no_special_token no_position_embeddings",
        ("vectors are computed with [CLS], [SEP] and positions, as in training; leave it out",),
    ),
    ("uds_path", ("this server listens at --host and --port", "this command is no server; leave it out")),
    (
        "disable_spans otlp_endpoint otlp_service_name",
        ("there are no traces; leave it out",),
    ),
    (
        "fixed_embed_length max_batch_tokens max_batch_requests max_batch_size priority_batch_size prefetch_size port_out "
        "gpu_memory_fraction http_max_connect graph_tmp_dir revision huggingface_hub_cache hf_token hf_api_token "
        "tokenization_workers",
        (_NEEDS_NONE,),
    ),
    ("show_tokens_to_client", ("answers have no tokens; bert-tokenize prints the tokens of a text",)),
    # Logs.
    ("silent disable_tqdm", ("--quiet",)),
    ("debug", ("--verbose",)),
)
ADVICE = {name: pieces for names, pieces in _ROWS for name in names.split()}


def unknown_flags_message(
    names: Sequence[str],
    flag_names: Collection[str],
    ending: str = "; --helpfull lists all flags",
    argument_names: Collection[str] = (),
) -> str:
    """Return the error message for unknown flags, with the flags to use instead.

    Args:
        names: unknown flag names, as the user wrote them.
        flag_names: the command's flag names.
        ending: text to append if any name has no advice.
        argument_names: names of the command's arguments that are not flags.
    """
    shown_names = names[:_MAX_NAMES]
    hints = {name: _argument_hint(name, argument_names) or _hint(name, flag_names) for name in shown_names}
    end = "" if all(hints.values()) else ending
    if len(names) == 1:
        hint = hints[names[0]]
        separator = "; " if hint.endswith("?") else ": "
        return f"unknown flag --{names[0]}{separator + hint if hint else ''}{end}"
    descriptions = [f"--{name}" + (f" ({hint})" if hint else "") for name, hint in hints.items()]
    rest = len(names) - len(shown_names)
    return f"unknown flags {', '.join(descriptions)}{f' and {rest} more' if rest else ''}{end}"


def _argument_hint(name: str, argument_names: Collection[str]) -> str:
    """Return advice if an unknown flag is the name of an argument without a flag, else ""."""
    argument = _similar(name, argument_names)
    return f"write the {argument} without a flag" if argument else ""


def _hint(name: str, flag_names: Collection[str]) -> str:
    """Return advice for an unknown flag: a replacement, a guess as a question, or ""."""
    bare = name.replace("-", "_").lower()
    if bare in ADVICE and bare not in flag_names:
        pieces = (advice for advice in ADVICE[bare] if set(mentioned_flags(advice)) <= set(flag_names))
        advice = next(pieces, "this command has no flag for it; leave it out")
        verb = "the flags are" if re.match(r"--\w+(, --\w+)* (and|or) ", advice) else "the flag is"
        return f"{verb} {advice}" if advice.startswith("--") else advice
    guess = _similar(bare, flag_names) or _similar(bare.removeprefix("no"), flag_names)
    return f"did you mean --{guess}?" if guess else ""


def _similar(name: str, flag_names: Collection[str]) -> str | None:
    """Return the flag that a misspelled name certainly means, or None."""
    import difflib  # late, as only wrong names need it

    closest = difflib.get_close_matches(name, flag_names, n=1, cutoff=_LEAST_SIMILARITY)
    # In a short name, two swapped letters lower difflib's ratio too much.
    swapped = [flag for flag in flag_names if sorted(flag) == sorted(name)]
    longer = [flag for flag in flag_names if flag.startswith(name) and len(name) >= _LEAST_PREFIX]
    if closest or swapped:
        return (closest or swapped)[0]
    return longer[0] if len(longer) == 1 else None
