"""HTCondor's accountant: who has used how much, and what priority follows."""
