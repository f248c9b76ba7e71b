"""The value of a setting as it is written on the command line."""

import pytest

from fairq.settings.keys import SINGLE
from fairq.settings.values import BadValueError, from_text

ADMINISTRATORS = SINGLE["pool.administrators"]


@pytest.mark.parametrize(
    ("text", "names"),
    [("ann, %phys", ("ann", "%phys")), ('["ann", "%phys"]', ("ann", "%phys")), ("[]", ())],
)
def test_a_list_is_read_as_names_with_commas_or_as_in_a_settings_file(text, names):
    assert from_text(ADMINISTRATORS, text) == names


@pytest.mark.parametrize("text", ["[ann]", '["ann"', '["ann"]\nx = 1', "[1]"])
def test_a_list_that_is_no_list_of_names_is_refused(text):
    with pytest.raises(BadValueError):
        from_text(ADMINISTRATORS, text)
