"""Checks that production and analysis share; each flow defines their place and the tasks they apply to."""
