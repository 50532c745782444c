"""What the processor of this machine can do."""

BFLOAT16_UNITS = frozenset({"amx_bf16", "avx512_bf16"})  # instruction sets with which products in bfloat16 are fast


def processor_flags() -> frozenset[str]:
    """Names of instruction sets as Linux lists them, such as avx512_bf16; none on another system."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            return frozenset(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    except FileNotFoundError:
        return frozenset()
