"""Why an analysis cannot go on, and singular positions that it passes."""
