"""Motion of the bodies of a spanning tree: poses, velocities, accelerations, and their variations."""
