"""HTCondor's own dumps of a pool: what ``condor_status``, ``condor_q`` and the accountant print, in and out.

Pure text and records: files are read and written here, but nothing of the state is.
"""
