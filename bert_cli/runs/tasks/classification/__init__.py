"""bert-classify: its data, results, folds, shards, distillation, explanations and new texts."""
