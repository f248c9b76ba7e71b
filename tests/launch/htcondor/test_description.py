"""What HTCondor is asked for: the slot, the words of the job, and what it cannot take."""

import subprocess
from pathlib import Path

import pytest

from fairq.engine.classad import evaluate_scalar, expression_of
from fairq.launch.htcondor.description import PLACE, common, item, on_slot
from fairq.launch.interface import Assignment

KEPT = Path("/pool.db.htcondor/1.0-abc")


def asked(*program, **fields):
    """Return the item of a run of *program* on slot1@n1."""
    fields_given = {"run": "1.0-abc", "directory": "/work", "environment": {}, "place": {PLACE: "slot1@n1"}, **fields}
    return item(Assignment(program=program or ("/bin/true",), **fields_given), KEPT)


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("slot1@n1", "slot1@n1", True),
        ("slot1@n1", "slot1_12@n1", True),
        ("slot1@n1", "slot11@n1", False),
        ("slot1@n1", "slot1@n10", False),
        ("slot1@a.example.org", "slot1_1@a.example.org", True),
        ("slot1@a.example.org", "slot1@a-example.org", False),
        ("slot1@gpu-1", "slot1_3@gpu-1", True),
    ],
)
def test_a_job_matches_its_slot_and_what_is_carved_out_of_it(name, other, same):
    assert evaluate_scalar(expression_of(f"/Expr({on_slot(name)})/"), {}, {"Name": other}, 0) is same


@pytest.mark.parametrize("word", ["two\nlines", "$$(Arch)", "ends with \\", "carriage\rreturn"])
def test_words_that_a_submit_description_cannot_express_reach_the_program(word):
    values = asked("/usr/bin/printf", "%s|", word, environment={"PLAIN": "1"})
    assert values["fairq_program"] == "/bin/sh"
    written = values["fairq_arguments"][1:-1].replace('\\"', '"').replace("$(DOLLAR)", "$")
    from fairq.common.arguments import split_quoted

    words = split_quoted('"' + written.replace('"', '""') + '"')
    done = subprocess.run(["/bin/sh", *words], capture_output=True, check=True)
    assert done.stdout == f"{word}|".encode()


def test_plain_words_stay_readable_in_the_queue():
    values = asked("/bin/echo", "a b", "it's", '"$HOME"')
    assert (values["fairq_program"], values["fairq_arguments"]) == (
        "/bin/echo",
        "\"'a b' 'it''s' \\\"$(DOLLAR)HOME\\\"\"",
    )


def test_htcondor_sets_its_own_variables():
    environment = {"A": "1", "_CONDOR_SLOT": "x", "CUDA_VISIBLE_DEVICES": "10000", "TMPDIR": "/x", "TMPDIRS": "/y"}
    assert asked(environment=environment)["fairq_environment"] == '"A=1 TMPDIRS=/y"'


@pytest.mark.parametrize("name", ["/work/a\nb", "/work/$$x", "/work/ends ", "/work/a,b"])
def test_a_file_name_that_htcondor_cannot_take_is_refused_in_words(name):
    with pytest.raises(ValueError, match="rename the file"):
        asked(output=name)


def test_what_a_job_does_not_limit_is_left_to_htcondor():
    values = asked()
    assert {values[f"fairq_{name}"] for name in ("memory", "execute_seconds", "core_size")} == {"undefined"}
    assert (values["fairq_output"], values["fairq_log"]) == (f"{KEPT}/out", f"{KEPT}/log")


def test_every_macro_of_the_description_has_a_value_and_every_value_a_macro():
    text = " ".join(common("pool", None, spool=True).values())
    assert {name for name in asked() if f"$({name})" not in text} == set()
    assert text.count("$(fairq_") == len(asked())


def test_an_accounting_group_is_named_only_if_one_is_set():
    assert "accounting_group" not in common("pool", None)
    assert common("pool", "group_physics")["accounting_group"] == "group_physics"


@pytest.mark.parametrize(("gpus", "kept"), [(0, "ROCR_VISIBLE_DEVICES=10000"), (1, "")])
def test_htcondor_shows_a_job_its_gpus_and_a_job_without_gpus_sees_none(gpus, kept):
    hidden = {"CUDA_VISIBLE_DEVICES": "10000", "GPU_DEVICE_ORDINAL": "10000", "ROCR_VISIBLE_DEVICES": "10000"}
    values = asked("/bin/true", environment=hidden, gpus=gpus)
    assert values["fairq_environment"] == f'"{kept}"'
    assert values["fairq_gpus"] == str(gpus)
