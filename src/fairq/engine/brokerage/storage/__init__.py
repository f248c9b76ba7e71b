"""Storage: endpoints, where datasets are, and what is out of service."""
