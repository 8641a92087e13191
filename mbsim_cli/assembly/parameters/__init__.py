"""Numbers of a model file as a vector with derivatives, and the tables that it reads."""
