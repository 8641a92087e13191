"""Bodies and equations in natural coordinates."""
