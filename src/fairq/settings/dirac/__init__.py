"""DIRAC's configuration language, and its translation into settings."""
