"""Reports on the past: who used what."""
