"""One step in time: of constrained systems, of open trees, and back through both."""
