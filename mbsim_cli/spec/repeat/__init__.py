"""Repetitions: blocks of a file that stand for many items, written out before anything is judged."""
