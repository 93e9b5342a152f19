"""Which tests a second run on another database takes (`--only-rows`)."""

import pytest

from tests.skips import uses_rows


def test_a_test_without_the_database_uses_no_rows(request: pytest.FixtureRequest) -> None:
    assert not uses_rows(request.node)


def test_the_fixture_of_a_database_uses_rows(request: pytest.FixtureRequest, db: None) -> None:
    assert uses_rows(request.node)


@pytest.mark.django_db
def test_the_mark_of_a_database_uses_rows(request: pytest.FixtureRequest) -> None:
    assert uses_rows(request.node)


@pytest.mark.kill
@pytest.mark.parametrize("heddle", ["shared"])
def test_a_heddle_on_a_file_uses_no_rows_elsewhere(
    request: pytest.FixtureRequest, heddle: str
) -> None:
    assert not uses_rows(request.node)
