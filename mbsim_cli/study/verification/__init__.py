"""The checks of ``mbsim check`` on one file: references, other methods, and differences of whole analyses."""
