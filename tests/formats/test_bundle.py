"""Archives of dumps that are cut off or damaged are errors of one line, for every command that reads them."""

import io
import json
import tarfile

import pytest


def _archive(compression):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=f"w:{compression}") as archive:
        content = json.dumps([{"Name": f"slot{number}", "Cpus": number * 7919} for number in range(900)]).encode()
        member = tarfile.TarInfo("slots.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("line", ["import {}", "taskqueues import {}", "broker import {}"])
@pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("place", ["beginning", "middle", "end"])
def test_an_archive_that_is_cut_off_or_damaged_is_an_error_of_one_line(run, tmp_path, state, line, compression, place):
    archive = _archive(compression)
    position = {"beginning": 40, "middle": len(archive) // 2, "end": len(archive) - 12}[place]
    for name, content in (
        ("cut", archive[:position]),
        ("damaged", archive[:position] + b"\xa5\x5a" * 4 + archive[position + 8 :]),
    ):
        path = tmp_path / f"{name}.tar.{compression}"
        path.write_bytes(content)
        ended = run("--state", state, *line.format(path).split())
        assert ended.code not in (0, 1), ended.err
        assert (ended.err.count("\n"), state.exists()) == (1, False), ended.err
