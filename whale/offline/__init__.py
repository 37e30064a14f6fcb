"""The embedded proposer: a deterministic program that edits harness code by the evidence in the traces."""
