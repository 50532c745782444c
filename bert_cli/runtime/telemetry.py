"""Telemetry in the inference engines, which is off unless a user turns it on."""

import os

_ONNXRUNTIME_SWITCH = "ORT_DISABLE_TELEMETRY"


def turn_off_telemetry() -> None:
    """Turn off onnxruntime's telemetry in this process and the processes that it starts.

    If the user has set the variable, it is kept: 0 turns telemetry on.
    """
    # onnxruntime 1.32 reads the variable once during its import. Its disable_telemetry_events() is
    # too late: the import has already stored a device id and the first event.
    if not os.environ.get(_ONNXRUNTIME_SWITCH):
        os.environ[_ONNXRUNTIME_SWITCH] = "1"
