"""The suite's verifiers beside those of the libraries, on generated pairs whose truth is known by construction.

``python -m bench.verifiers --save results/verifiers`` draws them, prints the tables, and writes every disagreement.
"""
