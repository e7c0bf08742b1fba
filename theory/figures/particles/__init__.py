"""Figures of tokens as interacting particles."""
