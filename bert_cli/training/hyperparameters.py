"""The hyperparameters of a training run. Imports no TensorFlow."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class TrainingHyperparameters:
    """`steps` updates in all, each on `batch_size` rows over all devices, computed in `accumulation_steps` micro-batches.

    learning_rate: the peak, which is reached after warmup_steps; how it goes on, lr_schedule says (see optimizers.schedule).
    auto_batch: double the accumulation steps while memory does not suffice for the first update.
    random_seed: of the order of the rows and of dropout. optimizer: "adamw", "lamb" or "nadam". bias_correction: see
    AdamWeightDecay. first_step: where the plan of the learning rate begins; warmup_steps count from there.
    """

    steps: int
    warmup_steps: int
    learning_rate: float
    batch_size: int
    random_seed: int
    optimizer: str = "adamw"
    bias_correction: bool = False
    first_step: int = 0
    weight_decay: float = 0.01
    lr_schedule: str = "linear"
    accumulation_steps: int = 1
    auto_batch: bool = False
