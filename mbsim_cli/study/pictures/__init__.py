"""From results to what pictures and films show."""
