"""Simulations: traces under policies, and what a pool would become."""
