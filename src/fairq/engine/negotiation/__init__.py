"""HTCondor's negotiation cycle: pie, spins, candidates and matches."""
