"""Attention as a system of particles: velocity fields, and the integrators that follow them."""
