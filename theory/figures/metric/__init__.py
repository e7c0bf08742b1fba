"""Figures of attention by learned distances."""
