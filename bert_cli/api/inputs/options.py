"""Options of trainings in Python, which are the flags of the commands without dashes.

`make docs` prints this file from the flags. --help and docs/ explain each of them.
"""

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Path = str | os.PathLike | None


class CommonOptions(TypedDict, total=False):
    """Options of all trainings."""

    quoting: Literal["none", "csv"] | None
    sheet: Any
    max_seq_length: int | None
    init_checkpoint: Path
    vocab_file: Path
    do_lower_case: bool | None
    strict: bool | None
    gelu: Literal["auto", "erf", "tanh"] | None
    overwrite_output_dir: bool | None
    encoding: Any
    train_batch_size: int | Sequence[int] | None
    learning_rate: float | Sequence[float] | None
    eval_every: Any
    metric_for_best: Any
    early_stopping_patience: int | None
    report: bool | None
    freeze_layers: int | None
    layerwise_lr_decay: float | None
    optimizer: Literal["adamw", "adam", "lamb", "nadam"] | None
    bias_correction: bool | None
    weight_decay: float | None
    lr_schedule: Literal["linear", "cosine", "constant"] | None
    recompute: Literal["none", "layers"] | None
    hidden_dropout_prob: float | None
    attention_dropout_prob: float | None
    num_runs: int | None
    random_seed: int | None
    save_checkpoints_steps: int | None
    keep_checkpoint_max: int | None
    keep_moments: Literal["newest", "all"] | None
    log_steps: int | None
    tensorboard: bool | None
    report_to: Any
    report_model: bool | None
    distribution_strategy: Literal["auto", "one_device", "mirrored", "multi_worker", "tpu"] | None
    num_virtual_devices: int | None
    worker_timeout: int | None
    num_threads: int | None
    use_tpu: bool | None
    tpu_name: Any
    tpu_zone: Any
    gcp_project: Any


class Options(CommonOptions, total=False):
    """Options of all fine-tunings."""

    bert_config_file: Path
    allow_unknown: bool | None
    hub_module: Path
    hub_preprocess: Path
    hub_trainable: bool | None
    predict_batch_size: int | None
    bootstrap: Any
    line_buffered: bool | None
    num_train_epochs: float | Sequence[float] | None
    warmup_proportion: float | None
    freeze_encoder: bool | None
    lora_rank: int | None
    lora_alpha: float | None
    lora_targets: Any
    gradient_accumulation_steps: int | None
    auto_batch: bool | None
    loss: Literal["cross_entropy", "focal"] | None
    focal_gamma: float | None
    label_smoothing: float | None
    precision: Literal["auto", "float32", "bfloat16", "float16", "int8"] | None
    engine: Literal["auto", "tensorflow", "onnxruntime", "openvino"] | None


class FitOptions(Options, total=False):
    """Options of `Classifier.fit`."""

    task_name: Any
    language: Literal["ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh"] | None
    data_dir: Path
    header: Literal["auto", "yes", "no"] | None
    predict_header: Literal["auto", "yes", "no"] | None
    text_column: Any
    text_b_column: Any
    label_column: Any
    id_column: Any
    choice_columns: Any
    choice_labels: Literal["auto", "0", "1", "letter", "name"] | None
    label_separator: Any
    problem_type: Literal["single_label", "multi_label", "regression", "multiple_choice"] | None
    soft_labels: bool | None
    normalize_soft_labels: bool | None
    positive_label: Any
    keep_columns: Any
    skip_unlabeled: bool | None
    group_column: Any
    weight_column: Any
    weighted_metrics: bool | None
    dev_split: Any
    dev_split_seed: int | None
    long_text: Literal["truncate", "head_tail", "windows"] | None
    threshold: Any
    eval_batch_size: int | None
    calibrate: bool | None
    abstain_error: Any
    to_label: Literal["margin", "entropy", "disagreement"] | None
    to_label_rows: int | None
    explain: Any
    shard: Any
    rows_per_label: int | Sequence[int] | None
    method: Literal["fine_tuning", "linear_probe", "contrastive"] | None
    distill_from: Path
    unlabeled_file: Path
    distill_temperature: float | None
    distill_share: float | None
    metric: Any
    classifier_dropout: float | None
    head_input: Literal["pooled", "cls", "mean"] | None
    class_weights: Any
    cross_validation_repeats: int | None
    inner_cross_validation: Any


class ClassifyOptions(FitOptions, total=False):
    """Options of `Classifier.train`."""

    labels: Any


class TagOptions(Options, total=False):
    """Options of `Tagger.train`."""

    data_dir: Path
    header: Literal["auto", "yes", "no"] | None
    word_column: Any
    tag_column: Any
    tag_scheme: Literal["auto", "BIO", "IOB1", "BIOES", "BMES", "BMEWO", "BILOU", "IO"] | None
    outside_tag: Any
    tag_form: Any
    test_tags: Literal["auto", "yes", "no"] | None
    span_format: str | None
    label_all_pieces: bool | None
    doc_stride: int | None
    labels: Any
    dev_split: Any
    dev_split_seed: int | None
    skip_unlabeled: bool | None
    layers: Any
    eval_batch_size: int | None
    decoding: Literal["argmax", "viterbi"] | None
    text_column: Any
    id_column: Any
    classifier_dropout: float | None
    class_weights: Any
    cross_validation_repeats: int | None
    inner_cross_validation: Any


class SquadOptions(Options, total=False):
    """Options of `QuestionAnswerer.train`."""

    version_2_with_negative: bool | None
    multiple_answers: Literal["first", "all"] | None
    max_query_length: int | None
    doc_stride: int | None
    n_best_size: int | None
    max_answer_length: int | None
    null_score_diff_threshold: float | None
    keep_padding: bool | None
    steps_from_examples: bool | None
    skip_padding: bool | None


class VectorOptions(CommonOptions, total=False):
    """Options of `FeatureExtractor.train`."""

    header: Literal["auto", "yes", "no"] | None
    text_column: Any
    text_b_column: Any
    negative_columns: Any
    score_column: Any
    pooling: Any
    normalize: bool | None
    bert_config_file: Path
    allow_unknown: bool | None
    eval_batch_size: int | None
    num_train_epochs: float | Sequence[float] | None
    warmup_proportion: float | None
    loss: Literal["auto", "multiple_negatives", "cosent", "cosine", "triplet"] | None
    mine_negatives: int | None
    similarity_scale: float | None
    margin: float | None
    precision: Literal["auto", "float32", "bfloat16", "float16", "int8"] | None
    engine: Literal["auto", "tensorflow", "onnxruntime", "openvino"] | None


class PretrainOptions(CommonOptions, total=False):
    """Options of `MaskFiller.train`."""

    text_column: Any
    header: Literal["auto", "yes", "no"] | None
    eval_share: float | None
    no_nsp: bool | None
    pack: bool | None
    line_by_line: bool | None
    max_predictions_per_seq: int | None
    masked_lm_prob: float | None
    do_whole_word_mask: bool | None
    whole_words_from: Literal["pieces", "spaces"] | None
    short_seq_prob: float | None
    eval_batch_size: int | None
    num_train_steps: int | None
    num_train_epochs: float | None
    num_warmup_steps: int | None
    max_eval_steps: int | None
    freeze_encoder: bool | None
    gradient_accumulation_steps: int | None
    auto_batch: bool | None
    loss: Literal["cross_entropy", "focal"] | None
    focal_gamma: float | None
    label_smoothing: float | None
    precision: Literal["auto", "float32", "bfloat16", "float16"] | None
    engine: Literal["auto", "tensorflow"] | None
