"""Benchmarks of pi_rank. `python -m benchmarks --help` lists them."""
