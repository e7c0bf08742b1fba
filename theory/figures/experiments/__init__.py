"""Figures of the experiments that were reported of metric-attention."""
