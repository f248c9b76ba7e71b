"""The rules, pure: data in, decisions out; no clock, no SQL, no printing."""
