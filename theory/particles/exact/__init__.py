"""Closed forms, closed equations and enclosures of attention as a system of particles."""
