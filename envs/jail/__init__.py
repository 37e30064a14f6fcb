"""Foreign Python code in a jailed process tree; ``jail.Jail`` is the entry point."""
