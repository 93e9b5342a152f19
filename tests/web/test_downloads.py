"""Files that are saved from pages: their names, and a page where there is none."""

import pytest
from django.conf import settings
from django.test import Client

from loom.people.models import User
from loom.site.downloads import attachment, file_name
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db
PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def browser(client: Client, owner: User) -> Client:
    """A browser in which the owner has signed in."""
    client.force_login(owner)
    client.cookies[settings.CSRF_COOKIE_NAME] = "x" * 32
    return client


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ('Buch "Ex/por\x00t"', "Buch -Ex-por-t-"),
        ("..\\hidden", "-hidden"),
        (" . ", "tree"),
        ("שביל", "שביל"),
        ("x" * 300, "x" * 80),
    ],
)
def test_a_title_becomes_a_file_name_for_any_system(title: str, name: str) -> None:
    assert file_name(title, "tree") == name
    assert attachment(title, "md", otherwise="tree").isascii()


def test_a_book_is_named_as_an_export_is(browser: Client, tree: Tree) -> None:
    Tree.objects.filter(pk=tree.pk).update(title='Buch "Ex/por"')
    for path in ("book?format=epub", "export?format=epub"):
        header = browser.get(f"/api/trees/{tree.uid}/{path}")["Content-Disposition"]
        assert "Buch -Ex-por-.epub" in header, path


def test_whoever_follows_a_link_to_a_file_sees_why_there_is_none(
    browser: Client, tree: Tree
) -> None:
    address = f"/api/trees/{tree.uid}/export?format=markdown&node=zzzz"
    shown = browser.get(address, headers=PAGE)
    assert (shown.status_code, shown["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Page not found</h1>" in shown.content.decode()
    german = browser.get(address, headers=PAGE | {"Accept-Language": "de"}).content.decode()
    assert '<html lang="de"' in german
    # Scripts of pages, and programs, read the body that all errors have.
    for headers in ({}, {"Accept": "application/json"}):
        assert browser.get(address, headers=headers).json()["code"] == "NOT_FOUND"
    assert Client().get(address, headers=PAGE).json()["code"] == "UNAUTHENTICATED"


def test_a_browser_without_a_session_is_led_to_the_sign_in(browser: Client, tree: Tree) -> None:
    browser.cookies.pop(settings.SESSION_COOKIE_NAME)
    shown = browser.get(f"/api/trees/{tree.uid}/export?format=markdown", headers=PAGE)
    assert shown.status_code == 401
    assert "<h1>Please sign in</h1>" in shown.content.decode()
    assert '<a class="button primary" href="/">Sign in</a>' in shown.content.decode()
