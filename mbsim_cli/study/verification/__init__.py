"""What ``mbsim check`` does with one file: references, other methods, and differences of whole analyses."""
