"""The task of each command (its data, head, metrics and files), and the interface for the driver."""
