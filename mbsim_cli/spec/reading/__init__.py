"""From files of YAML to data that know where they stand."""
