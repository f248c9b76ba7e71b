"""The machines of the pool: slots and their ads, import and export."""
