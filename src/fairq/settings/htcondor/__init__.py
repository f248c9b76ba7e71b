"""Reading HTCondor's configuration language, and translating it into fairq's settings."""
