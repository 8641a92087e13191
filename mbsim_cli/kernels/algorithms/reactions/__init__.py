"""Reactions of joints and constraints: values, variations, pull-backs."""
