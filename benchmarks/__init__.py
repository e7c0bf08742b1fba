"""Speed against peers, in one run, run by hand: ``python -m benchmarks [NAME ...]``."""
