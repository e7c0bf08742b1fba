"""Sweeps shared by the claims and the figures of this room."""
