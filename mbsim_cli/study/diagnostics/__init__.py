"""Diagnostics watch a run block by block, and report in sentences whatever a careful reader would notice."""
