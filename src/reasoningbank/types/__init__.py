"""Public types: one file a subject; what an operation returns is what every entrance shows."""
