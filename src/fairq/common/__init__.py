"""What every room may use: the records that rooms hand to each other, quantities and periods, files and locks."""
