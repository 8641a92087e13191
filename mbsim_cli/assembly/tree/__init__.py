"""Bodies and joints as a spanning tree."""
