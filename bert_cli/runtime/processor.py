"""Features of this machine's processor."""

BFLOAT16_UNITS = frozenset({"amx_bf16", "avx512_bf16"})  # instruction sets with fast bfloat16 products


def processor_flags() -> frozenset[str]:
    """Return instruction sets as Linux lists them, such as avx512_bf16; empty on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as file:
            return frozenset(next((line for line in file if line.startswith(("flags", "Features"))), "").split())
    except FileNotFoundError:
        return frozenset()
