"""Detection of a GPU without TensorFlow, which takes seconds to import."""

import glob
import os

# Files of NVIDIA's driver on Linux, its library in Windows Subsystem for Linux, and AMD's driver.
_DEVICE_FILES = ("/dev/nvidia[0-9]*", "/usr/lib/wsl/lib/libcuda.so.1", "/dev/kfd")
_HIDDEN = ("", "-1")  # values that hide all GPUs


def has_gpu() -> bool:
    """Return whether a driver shows a GPU to this process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in _HIDDEN:
        return False
    return any(glob.glob(pattern) for pattern in _DEVICE_FILES)
