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

# Command -> command lines that it replaces.
FOREIGN_FLAGS = {
    "bert-classify": (RUN_GLUE, RUN_CLASSIFICATION, TRAINING_ARGUMENTS),
    "bert-tag": (RUN_NER, TRAINING_ARGUMENTS),
    "bert-squad": (RUN_QA, TRAINING_ARGUMENTS),
    "bert-pretrain": (RUN_MLM, TRAINING_ARGUMENTS, SENTENCE_TRAINING),
    "bert-extract-features": (SENTENCE_ENCODING,),
    "bert-export": (OPTIMUM_EXPORT, OPTIMUM_QUANTIZE),
}
