"""condor_userprio's views and edits of the accounting records."""
