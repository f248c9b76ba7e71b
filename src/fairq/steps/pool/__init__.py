"""The slots of the pool and their ads; import and export."""
