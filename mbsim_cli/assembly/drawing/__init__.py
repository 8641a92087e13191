"""What is drawn of a model."""
