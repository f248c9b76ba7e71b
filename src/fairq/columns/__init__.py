"""Many records by column: ads by shape, and tables of slots, jobs and claims."""
