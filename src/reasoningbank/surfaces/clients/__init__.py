"""The configuration of agents' clients: our entry put in and taken out, everything else left byte for byte."""
