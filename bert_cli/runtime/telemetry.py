"""Telemetry of the inference engines, which is off unless the user asks for it."""

import os

_ONNXRUNTIME_SWITCH = "ORT_DISABLE_TELEMETRY"


def turn_off_telemetry() -> None:
    """Turn off the telemetry of onnxruntime in this process and the processes that it starts.

    A value that the user gave to the variable is kept: 0 turns telemetry on.
    """
    # onnxruntime 1.32 reads the variable once, when it is imported. Its disable_telemetry_events()
    # comes too late: the import has already stored a device id and the first event.
    if not os.environ.get(_ONNXRUNTIME_SWITCH):
        os.environ[_ONNXRUNTIME_SWITCH] = "1"
