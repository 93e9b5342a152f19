"""A passkey in a browser that has a device: added, used alone and after a password, removed."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open, invited
from tests.browser.house import give
from tests.browser.test_operator import fits

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def with_device(page: Page) -> Callable[[], list[dict[str, object]]]:
    """Gives the browser a device that keeps passkeys; what it keeps."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    device = session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})

    def kept() -> list[dict[str, object]]:
        credentials: list[dict[str, object]] = session.send("WebAuthn.getCredentials", device)[
            "credentials"
        ]
        return credentials

    return kept


def sign_out(page: Page) -> None:
    """Signs out, and comes to the page for signing in."""
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    expect(page).to_have_url(re.compile("/signin"))


@pytest.mark.parametrize(("size", "theme"), [(DESK, "light"), (PHONE, "dark")])
def test_a_passkey_is_added_signs_in_and_is_removed(
    heddle: Heddle, chrome: Browser, visit: Open, size: dict[str, int], theme: str
) -> None:
    name = f"pia{uuid4().hex[:6]}"
    # Browsers make passkeys for names only.
    site = heddle.url.replace("127.0.0.1", "localhost")
    cookies = invited(heddle, chrome, name, "reader")
    page = visit("/guide", size=size, theme=theme)
    kept = with_device(page)
    page.context.clear_cookies()
    give(page.context, cookies, site)
    page.goto(f"{site}/settings/access")
    page.get_by_label("Name of a new passkey").fill("pocket")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("You can sign in with the passkey pocket from now on.")).to_be_visible()
    expect(page.get_by_label("Name of the passkey pocket")).to_have_value("pocket")
    assert [credential["rpId"] for credential in kept()] == ["localhost"]
    assert fits(page)
    # The device says that it has one already.
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("alert")).to_have_text("This device has a passkey for you already.")
    # Alone.
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()
    # After the password.
    page.goto(f"{site}/settings/access")
    page.get_by_role("button", name="Ask for a passkey after my password").click()
    expect(page.get_by_role("button", name="Ask for my password only")).to_be_visible()
    sign_out(page)
    page.get_by_label(re.compile("^Name")).fill(name)
    page.get_by_label(re.compile("^Password")).fill(f"{name} walks the tall grass")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Passkey")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()
    # Renamed and removed: then nothing here knows it any more.
    page.goto(f"{site}/settings/access")
    page.get_by_label("Name of the passkey pocket").fill("purse")
    page.get_by_role("button", name="Rename the passkey pocket").click()
    page.get_by_role("button", name="Remove the passkey purse").click()
    expect(page.get_by_text("The passkey purse has been removed.")).to_be_visible()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("This passkey is not known here.")).to_be_visible()


def test_a_page_at_a_number_says_where_passkeys_work(
    heddle: Heddle, chrome: Browser, visit: Open
) -> None:
    page = visit("/signin", anonymous=True)
    page.get_by_role("button", name="Sign in with a passkey").click()
    alert = page.get_by_role("alert").filter(has_text="Passkeys do not work at this address.")
    expect(alert).to_contain_text("Open http://localhost:")
