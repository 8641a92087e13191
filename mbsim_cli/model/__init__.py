"""What a solver is given and gives: arrays, names, codes; no behaviour."""
