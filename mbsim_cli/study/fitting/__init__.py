"""Parameters from measurements, by least squares: ``mbsim fit``."""
