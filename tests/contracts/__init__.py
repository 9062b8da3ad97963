"""One suite for each protocol, run on every implementation."""

import pytest

# The suites' own modules are not named test_*: without this their asserts would not say what they compared.
pytest.register_assert_rewrite(
    "tests.contracts.store",
    "tests.contracts.store_changes",
    "tests.contracts.store_load",
    "tests.contracts.store_names",
    "tests.contracts.store_scopes",
    "tests.contracts.subjects",
)
