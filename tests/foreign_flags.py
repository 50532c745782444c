"""Flags of other programs, per command line, for tests of the advice about them."""

# TrainingArguments of transformers 5, and its older names in transformers 4.
TRAINING_ARGUMENTS = (
    "output_dir per_device_train_batch_size num_train_epochs max_steps learning_rate lr_scheduler_type "
    "lr_scheduler_kwargs warmup_steps optim optim_args weight_decay adam_beta1 adam_beta2 adam_epsilon "
    "optim_target_modules gradient_accumulation_steps average_tokens_across_devices max_grad_norm "
    "label_smoothing_factor bf16 fp16 bf16_full_eval fp16_full_eval tf32 activation_checkpointing "
    "activation_checkpointing_kwargs gradient_checkpointing gradient_checkpointing_kwargs torch_compile "
    "torch_compile_backend torch_compile_mode use_liger_kernel liger_kernel_config use_cache "
    "neftune_noise_alpha torch_empty_cache_steps auto_find_batch_size logging_strategy logging_steps "
    "logging_first_step log_on_each_node logging_nan_inf_filter include_num_input_tokens_seen log_level "
    "log_level_replica disable_tqdm report_to run_name project trackio_space_id trackio_bucket_id "
    "trackio_static_space_id eval_strategy eval_steps eval_delay per_device_eval_batch_size "
    "prediction_loss_only eval_on_start eval_do_concat_batches eval_use_gather_object "
    "eval_accumulation_steps include_for_metrics batch_eval_metrics save_only_model save_strategy "
    "save_steps save_on_each_node save_total_limit enable_jit_checkpoint push_to_hub hub_token "
    "hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision load_best_model_at_end "
    "metric_for_best_model greater_is_better ignore_data_skip restore_callback_states_from_checkpoint "
    "full_determinism seed data_seed use_cpu accelerator_config parallelism_config dataloader_drop_last "
    "dataloader_num_workers dataloader_pin_memory dataloader_persistent_workers "
    "dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order "
    "remove_unused_columns label_names train_sampling_strategy length_column_name "
    "ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend "
    "ddp_timeout fsdp fsdp_config deepspeed debug skip_memory_metrics do_train do_eval do_predict "
    "resume_from_checkpoint local_rank overwrite_output_dir evaluation_strategy per_gpu_train_batch_size "
    "per_gpu_eval_batch_size warmup_ratio logging_dir save_safetensors no_cuda use_mps_device "
    "jit_mode_eval use_ipex fp16_opt_level half_precision_backend fp16_backend tpu_num_cores "
    "tpu_metrics_debug past_index fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap adafactor "
    "group_by_length include_inputs_for_metrics include_tokens_per_second push_to_hub_model_id "
    "push_to_hub_organization push_to_hub_token mp_parameters torchdynamo ray_scope dispatch_batches "
    "split_batches"
)

RUN_GLUE = (
    "model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token "
    "use_auth_token trust_remote_code ignore_mismatched_sizes dataset_name dataset_config_name "
    "overwrite_cache pad_to_max_length max_seq_length max_train_samples max_eval_samples "
    "max_predict_samples preprocessing_num_workers train_file validation_file task_name test_file"
)

RUN_CLASSIFICATION = (
    "model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token "
    "use_auth_token trust_remote_code ignore_mismatched_sizes dataset_name dataset_config_name "
    "overwrite_cache pad_to_max_length max_seq_length max_train_samples max_eval_samples "
    "max_predict_samples preprocessing_num_workers train_file validation_file test_file do_regression "
    "text_column_names text_column_delimiter train_split_name validation_split_name test_split_name "
    "remove_splits remove_columns label_column_name shuffle_train_dataset shuffle_seed metric_name"
)

RUN_NER = (
    "model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token "
    "use_auth_token trust_remote_code ignore_mismatched_sizes dataset_name dataset_config_name "
    "overwrite_cache pad_to_max_length max_seq_length max_train_samples max_eval_samples "
    "max_predict_samples preprocessing_num_workers train_file validation_file test_file task_name "
    "text_column_name label_column_name label_all_tokens return_entity_level_metrics"
)

RUN_QA = (
    "model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token "
    "use_auth_token trust_remote_code ignore_mismatched_sizes dataset_name dataset_config_name "
    "overwrite_cache pad_to_max_length max_seq_length max_train_samples max_eval_samples "
    "max_predict_samples preprocessing_num_workers train_file validation_file test_file "
    "version_2_with_negative null_score_diff_threshold doc_stride n_best_size max_answer_length"
)

RUN_MLM = (
    "model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token "
    "use_auth_token trust_remote_code ignore_mismatched_sizes dataset_name dataset_config_name "
    "overwrite_cache pad_to_max_length max_seq_length max_train_samples max_eval_samples "
    "max_predict_samples preprocessing_num_workers train_file validation_file model_type config_overrides "
    "torch_dtype dtype low_cpu_mem_usage validation_split_percentage mlm_probability line_by_line "
    "streaming"
)

# SentenceTransformerTrainingArguments, without those of TrainingArguments.
SENTENCE_TRAINING = (
    "prompts batch_sampler multi_dataset_batch_sampler router_mapping learning_rate_mapping warmup_ratio"
)

# Arguments of SentenceTransformer and its encode, which scripts take as flags.
SENTENCE_ENCODING = (
    "model_name_or_path model_name device prompts default_prompt_name similarity_fn_name cache_folder "
    "trust_remote_code revision local_files_only token use_auth_token truncate_dim model_card_data "
    "backend sentences prompt_name prompt batch_size show_progress_bar output_value precision "
    "convert_to_numpy convert_to_tensor normalize_embeddings pool chunk_size processor_kwargs "
    "model_kwargs tokenizer_kwargs config_kwargs max_seq_length"
)

# optimum-cli export onnx.
OPTIMUM_EXPORT = (
    "model output task opset device fp16 dtype optimize monolith no_post_process variant framework atol "
    "cache_dir trust_remote_code pad_token_id library_name no_position_ids no_dynamic_axes batch_size "
    "sequence_length num_choices width height num_channels feature_size nb_max_frames "
    "audio_sequence_length point_batch_size nb_points_per_image for_ort slim model_kwargs"
)

# optimum-cli onnxruntime quantize.
OPTIMUM_QUANTIZE = "onnx_model output per_channel arm64 avx2 avx512 avx512_vnni tensorrt config"

# optimum-cli export openvino.
OPTIMUM_OPENVINO = (
    "model output task framework trust_remote_code weight_format quant_mode library cache_dir pad_token_id variant "
    "ratio sym group_size group_size_fallback backup_precision dataset all_layers awq scale_estimation gptq "
    "lora_correction sensitivity_metric quantization_statistics_path num_samples disable_stateful "
    "disable_convert_tokenizer smooth_quant_alpha model_kwargs"
)

# optimum-cli onnxruntime optimize, and older flags for export.
OPTIMUM_OPTIMIZE = "onnx_model output O1 O2 O3 O4 config no_constant_folding visual_seq_length feature ppc64le"

TF2ONNX = (
    "saved_model tag signature_def concrete_function checkpoint keras tflite tfjs graphdef input large_model output "
    "inputs outputs ignore_default use_default rename_inputs rename_outputs use_graph_names opset dequantize "
    "custom_ops extra_opset load_op_libraries target continue_on_error debug output_frozen_graph inputs_as_nchw "
    "outputs_as_nchw"
)

# transformers-cli convert, and two scripts that convert BERT in transformers 4.
TRANSFORMERS_CONVERT = (
    "model_type tf_checkpoint pytorch_dump_output config finetuning_task_name tf_checkpoint_path bert_config_file "
    "pytorch_dump_path model_name pytorch_model_path tf_cache_dir cache_dir"
)

# What run_*_no_trainer.py have besides the flags of the same script with a Trainer.
NO_TRAINER = (
    "max_length use_slow_tokenizer max_train_steps num_warmup_steps model_type debug checkpointing_steps with_tracking "
    "low_cpu_mem_usage"
)

RUN_XNLI = "language train_language do_lower_case"

# Scripts in transformers 2 and 3.
OLD_TRANSFORMERS = (
    "data_dir model_type per_gpu_train_batch_size per_gpu_eval_batch_size evaluate_during_training "
    "eval_all_checkpoints overwrite_cache server_ip server_port local_rank no_cuda"
)
OLD_LANGUAGE_MODELING = "train_data_file eval_data_file mlm mlm_probability block_size line_by_line should_continue"
OLD_SQUAD = "verbose_logging lang_id threads null_score_diff_threshold predict_file"

# TensorFlow's model garden: run_classifier.py and run_squad.py.
MODEL_GARDEN = (
    "mode train_data_path eval_data_path input_meta_data_path train_data_size predict_checkpoint_path train_batch_size "
    "eval_batch_size bert_config_file model_export_path tpu init_checkpoint num_train_epochs steps_per_loop "
    "learning_rate end_lr optimizer_type scale_loss use_keras_compile_fit hub_module_url hub_module_trainable "
    "sub_model_export_name explicit_allreduce allreduce_bytes_per_pack model_dir distribution_strategy num_gpus dtype "
    "loss_scale enable_xla run_eagerly fp16_implementation all_reduce_alg num_packs datasets_num_private_threads "
    "tf_gpu_thread_mode per_gpu_thread_count warmup_steps"
)

# Its train.py, with parameters for --params_override.
GARDEN_TRAIN = (
    "experiment mode model_dir config_file gin_file gin_params tpu tf_data_service tpu_platform tfhub_handle "
    "enable_async_checkpointing "
    "task.init_checkpoint task.hub_module_url task.model.num_classes task.train_data.input_path "
    "task.validation_data.input_path task.train_data.global_batch_size task.validation_data.global_batch_size "
    "task.train_data.seq_length task.validation_data.seq_length task.train_data.tfds_name task.train_data.is_training "
    "task.validation_data.tfds_name task.train_data.vocab_file task.validation_data.vocab_file "
    "task.train_data.drop_remainder task.validation_data.is_training task.validation_data.drop_remainder "
    "task.train_data.label_type task.metric_type trainer.train_steps trainer.validation_steps "
    "trainer.validation_interval trainer.checkpoint_interval trainer.summary_interval trainer.steps_per_loop "
    "trainer.max_to_keep trainer.best_checkpoint_eval_metric trainer.best_checkpoint_export_subdir "
    "trainer.best_checkpoint_metric_comp trainer.optimizer_config.optimizer.type "
    "trainer.optimizer_config.optimizer.adamw.weight_decay_rate "
    "trainer.optimizer_config.learning_rate.polynomial.initial_learning_rate "
    "trainer.optimizer_config.learning_rate.polynomial.decay_steps "
    "trainer.optimizer_config.learning_rate.polynomial.end_learning_rate "
    "trainer.optimizer_config.warmup.polynomial.warmup_steps runtime.distribution_strategy runtime.num_gpus "
    "runtime.mixed_precision_dtype runtime.tpu runtime.enable_xla runtime.loss_scale"
)

# sentence-transformers' example scripts.
SENTENCE_EXAMPLES = (
    "train_batch_size max_seq_length model_name max_passages epochs pooling negs_to_use warmup_steps lr "
    "num_negs_per_system use_pre_trained_model use_all_queries ce_score_margin"
)

# All flags that bert-serving-start has.
BERT_AS_SERVICE = (
    "model_dir tuned_model_dir ckpt_name config_name max_seq_len cased_tokenization pooling_layer pooling_strategy "
    "mask_cls_sep no_special_token show_tokens_to_client no_position_embeddings port port_in port_data port_out "
    "port_result http_port http_max_connect cors num_worker max_batch_size priority_batch_size cpu xla fp16 "
    "fixed_embed_length prefetch_size gpu_memory_fraction device_map graph_tmp_dir verbose"
)

# All flags that text-embeddings-router has.
TEXT_EMBEDDINGS = (
    "model_id revision tokenization_workers dtype pooling max_concurrent_requests max_batch_tokens "
    "max_batch_requests max_client_batch_size auto_truncate default_prompt_name default_prompt dense_path hf_token "
    "hf_api_token hostname port uds_path huggingface_hub_cache payload_limit api_key json_output disable_spans "
    "otlp_endpoint otlp_service_name prometheus_port cors_allow_origin served_model_name device_id"
)

# Command -> command lines that it replaces.
FOREIGN_FLAGS = {
    "bert-classify": (
        RUN_GLUE, RUN_CLASSIFICATION, TRAINING_ARGUMENTS, NO_TRAINER, RUN_XNLI, OLD_TRANSFORMERS, MODEL_GARDEN,
        GARDEN_TRAIN,
    ),
    "bert-tag": (RUN_NER, TRAINING_ARGUMENTS, NO_TRAINER, OLD_TRANSFORMERS, GARDEN_TRAIN),
    "bert-squad": (
        RUN_QA, TRAINING_ARGUMENTS, NO_TRAINER, OLD_TRANSFORMERS, OLD_SQUAD, MODEL_GARDEN, GARDEN_TRAIN,
    ),
    "bert-pretrain": (
        RUN_MLM, TRAINING_ARGUMENTS, SENTENCE_TRAINING, NO_TRAINER, OLD_TRANSFORMERS, OLD_LANGUAGE_MODELING,
        GARDEN_TRAIN,
    ),
    "bert-train-vectors": (SENTENCE_TRAINING, TRAINING_ARGUMENTS, SENTENCE_EXAMPLES),
    "bert-extract-features": (SENTENCE_ENCODING, BERT_AS_SERVICE),
    "bert-serve": (BERT_AS_SERVICE, TEXT_EMBEDDINGS),
    "bert-export": (OPTIMUM_EXPORT, OPTIMUM_QUANTIZE, OPTIMUM_OPENVINO, OPTIMUM_OPTIMIZE, TF2ONNX),
    "bert-convert": (TRANSFORMERS_CONVERT,),
}  # fmt: skip
