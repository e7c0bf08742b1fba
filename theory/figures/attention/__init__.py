"""Figures of attention as a kernel and as a transport."""
