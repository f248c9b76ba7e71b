"""Checks that production and analysis share; each flow says where they stand and for which tasks."""
