"""A pool for many people on one host: its setup, the program that changes it for them, and what their commands ask."""
