"""A process that trains alone ends where it was asked; several together: tests/commands/test_mirrored_devices.py."""

import tensorflow as tf

from bert_cli.training.several_processes import StopFlag


def test_alone_a_process_goes_by_itself():
    asked = iter([False, False, True])
    stop_flag = StopFlag(tf.distribute.OneDeviceStrategy("/cpu:0"), lambda: next(asked))
    assert [(stop_flag(), stop_flag.is_decided) for _ in range(3)] == [(False, False), (False, False), (True, True)]
