"""A pool for many people on one host: its setup, the program that changes it, and the requests of users' commands."""
