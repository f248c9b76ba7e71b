"""The settings: one typed table of keys, TOML files in layers, HTCondor's configuration read in."""

from fairq.settings.groups import GroupSettings
from fairq.settings.model import Settings, load

__all__ = ["GroupSettings", "Settings", "load"]
