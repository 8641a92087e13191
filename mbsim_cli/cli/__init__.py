"""The command line: one file per command, which parses arguments, calls the analysis and prints."""
