"""Parameter studies: many cases of one model, computed by workers, kept in a folder that a later call continues."""
