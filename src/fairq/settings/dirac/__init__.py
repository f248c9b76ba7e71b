"""DIRAC's configuration language, and what of it the settings take over."""
