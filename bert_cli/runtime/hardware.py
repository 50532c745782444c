"""Processor and GPUs of this machine, found without TensorFlow, which takes seconds to import."""

import glob
import os

BFLOAT16_UNITS = frozenset({"amx_bf16", "avx512_bf16"})  # instruction sets with fast bfloat16 products
# Files of NVIDIA's driver on Linux, its library in Windows Subsystem for Linux, and AMD's driver.
_DEVICE_FILES = ("/dev/nvidia[0-9]*", "/usr/lib/wsl/lib/libcuda.so.1", "/dev/kfd")
_HIDDEN = ("", "-1")  # values that hide all GPUs


def processor_flags() -> frozenset[str]:
    """Return instruction sets as Linux lists them, such as avx512_bf16; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            return frozenset(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    except FileNotFoundError:
        return frozenset()


def has_gpu() -> bool:
    """Return whether a driver shows a GPU to this process."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in _HIDDEN:
        return False
    return any(glob.glob(pattern) for pattern in _DEVICE_FILES)
