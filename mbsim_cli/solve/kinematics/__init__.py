"""Kinematics of driven mechanisms: positions, velocities, accelerations and reactions without integration."""
