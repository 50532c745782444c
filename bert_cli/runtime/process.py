"""State of this process."""


class _Process:
    # True in a process that one of our commands runs: we may choose its settings. False in a user's
    # program that calls the package.
    is_command = False
    # output_dir of the training that this process has started or resumed; None before.
    training_folder: str | None = None
    # True in a forked child if TensorFlow had started in its parent.
    has_lost_tensorflow = False


PROCESS = _Process()
