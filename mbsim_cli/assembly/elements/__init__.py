"""Forces, constraints, sensors and the measures and laws that they are made of."""
