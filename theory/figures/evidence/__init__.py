"""Figures of the evidence itself."""
