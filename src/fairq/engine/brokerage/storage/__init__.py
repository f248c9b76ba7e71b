"""Storage: endpoints, location of datasets, and endpoints out of service."""
