"""The decision that an older fairq stored about a task, in a form that is not read any more."""

from tests.cli.broker_sample import NOW, fill

from fairq.state.connection import writing


def test_a_decision_in_a_former_form_is_refused_until_the_task_is_brokered_again(run, state, tmp_path):
    fill(run, state, tmp_path)
    line = ("--state", state, "broker", "why", 1, "--last")
    assert run("--state", state, "broker", "run", "--now", NOW).code == 0
    assert "task 1 goes to 2 queues" in run(*line).out
    with writing(state) as opened:
        opened.connection.execute("UPDATE broker_verdict SET data = CAST(x'01' || substr(data, 2) AS BLOB)")
    ended = run(*line)
    assert (ended.code, ended.out, ended.err.count("\n")) == (123, "", 1)
    assert "fairq broker run --all" in ended.err
    assert run("--state", state, "broker", "run", "--all", "--now", NOW).code == 0
    assert "task 1 goes to 2 queues" in run(*line).out
