"""Views and edits of the accounting records, as in condor_userprio."""
