"""Simulated data with a known truth."""

from neuralmirror.simulation.designs import Simulation

__all__ = ["Simulation"]
