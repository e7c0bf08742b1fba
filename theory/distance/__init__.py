"""Certified Wasserstein-1 distances between token clouds."""

from theory.distance.line import w1_line as w1_line
from theory.distance.w1 import w1 as w1
