#!/usr/bin/env bash
# One machine, all of its GPUs. --train_batch_size is that over all GPUs, a multiple of their number.
#   CUDA_VISIBLE_DEVICES=0,1 deploy/several_gpus.sh bert-classify --do_train …
set -eu
exec "$@" --distribution_strategy=mirrored
