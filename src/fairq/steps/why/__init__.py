"""Why a job waits, or why a submitter or a group gets no more."""
