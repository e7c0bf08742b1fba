"""Figures of layers as diffusions."""
