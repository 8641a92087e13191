"""Forward dynamics of open trees as ordinary differential equations."""
