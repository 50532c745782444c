"""bert-classify: its data, predictions, results, distillation, explanations and new texts."""
