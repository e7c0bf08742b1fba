"""Figures of positions."""
