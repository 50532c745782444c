"""A process that trains alone stops immediately; tests/commands/test_mirrored_devices.py tests several processes."""

import tensorflow as tf

from bert_cli.training.several_processes import StopFlag


def test_single_process_stops_by_itself():
    stop_requests = iter([False, False, True])
    stop_flag = StopFlag(tf.distribute.OneDeviceStrategy("/cpu:0"), lambda: next(stop_requests))
    assert [(stop_flag(), stop_flag.is_decided) for _ in range(3)] == [(False, False), (False, False), (True, True)]
