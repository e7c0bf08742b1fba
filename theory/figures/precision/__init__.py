"""Figures of few bits."""
