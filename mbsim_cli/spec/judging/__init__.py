"""What is wrong with a model file, or doubtful, and what of it can be judged nevertheless."""
