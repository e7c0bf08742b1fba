"""Figures of how far attention can move a measure."""
