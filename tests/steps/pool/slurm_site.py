"""A Slurm site as files: what Slurm 22.05 printed with accounting, 3 accounts and 200 jobs (docs/slurm-site.md)."""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[3] / "docs" / "slurm-site.tar.gz"
TIME = 1795859730
"""When the site was recorded."""


def unpacked(folder: Path) -> Path:
    """Return a new directory in *folder* with the files of the site."""
    site = folder / "site"
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                (site / member.name).parent.mkdir(parents=True, exist_ok=True)
                (site / member.name).write_bytes(file.read())
    return site
