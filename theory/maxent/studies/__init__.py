"""Sweeps shared by the claims and the figures of this room."""

from theory.maxent.studies.landscape import SCORES as SCORES, TEMPERATURES as TEMPERATURES, landscape as landscape
