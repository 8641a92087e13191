"""Forces, constraints and sensors, and the measures and laws that they consist of."""
