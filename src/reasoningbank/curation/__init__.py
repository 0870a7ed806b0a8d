"""Curation: consolidation, lifecycle, stability, quarantine, hold-out."""
