"""Figures of attention weights as solutions of entropy problems."""
