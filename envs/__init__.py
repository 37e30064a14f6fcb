"""Environments: tasks, tools, verifiers, and the jailed and killable processes they need."""
