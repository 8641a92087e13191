"""Runs of several cases in one compiled loop."""
