"""What leaves a simplex, a domain or a shape is refused by name; the table is that of the room."""

import pytest

from tests.bad_input import maxent as table
from tests.bad_input.driver import Case, called


@pytest.mark.parametrize(("name", "changes", "message"), table.REFUSED)
def test_what_a_function_does_not_take_is_refused_by_name(name, changes, message):
    case = Case("maxent", name, table)
    with pytest.raises(ValueError, match=f"^{message}"):
        called(case.function, {**case.valid, **changes})
