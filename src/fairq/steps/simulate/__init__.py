"""Simulations: traces under policies, and previews of a changed pool."""
