"""The settings: one typed table of keys, TOML files in layers, and the import of HTCondor's configuration."""

from fairq.settings.model import GroupSettings, Settings, load

__all__ = ["GroupSettings", "Settings", "load"]
