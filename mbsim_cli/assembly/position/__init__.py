"""The position and the velocities at t = 0 that close all loops."""
