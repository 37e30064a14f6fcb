"""Maths tasks with boxed answers."""
