"""A stand-in for NVRx's restarts within a process (read at d8686d9)."""
