"""Reading HTCondor's configuration language, and saying in fairq's settings what it says."""
