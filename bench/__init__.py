"""Command line, profiles, evaluation, statistics, curves and reports."""
