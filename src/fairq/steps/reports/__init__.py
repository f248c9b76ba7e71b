"""Reports on past usage."""
