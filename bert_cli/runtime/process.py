"""Facts about this process."""


class _Process:
    # True in a process of one of our commands, whose settings are ours to choose. False in a user's
    # program that calls the package.
    is_command = False
    # The output_dir in which this process has begun to train or has resumed; None before.
    training_folder: str | None = None
    # True in a forked child of a process in which TensorFlow had started.
    has_lost_tensorflow = False


PROCESS = _Process()
