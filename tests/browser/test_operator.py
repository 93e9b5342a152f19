"""The pages of an operator on a phone, and the second factor of somebody who sets it up there."""

import base64
import re
import time
from uuid import uuid4

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PHONE, Heddle, Open, invited


def fits(page: Page) -> bool:
    """Whether nothing has to be moved sideways to be seen."""
    does_fit: bool = page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll(".scroll")]
            .every((one) => one.scrollWidth <= one.clientWidth)"""
    )
    return does_fit


def test_an_operator_sees_everything_on_a_phone_and_sets_limits(
    heddle: Heddle, visit: Open
) -> None:
    for path in ("", "/people", "/groves", "/work", "/storage"):
        page = visit(f"/operator{path}", size=PHONE, theme="dark")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert fits(page), path
    days = page.locator("#keep-look_steps")
    expect(days).to_have_value("")
    for given in ("400", ""):
        days.fill(given)
        page.get_by_role("row").filter(has=days).get_by_role("button", name="Save").click()
        expect(page.get_by_text("What it would free is being counted.")).to_be_visible()
        page.goto(f"{heddle.url}/operator/storage")
        expect(days).to_have_value(given)
    name = heddle.get("groves")["results"][0]["name"]  # type: ignore[index]
    page.goto(f"{heddle.url}/operator/groves")
    most = page.get_by_label(f"Most that a member of {name} may spend in a day, in USD")
    for given in ("900000", ""):
        most.fill(given)
        page.get_by_role("row").filter(has=most).get_by_role("button", name="Save").click()
        expect(page.get_by_text(f"The limit of {name} has been saved.")).to_be_visible()
        page.goto(f"{heddle.url}/operator/groves")
        expect(most).to_have_value(given)


def test_a_second_factor_is_set_up_on_a_phone_and_asked_for(
    heddle: Heddle, chrome: Browser, visit: Open
) -> None:
    name = f"fay{uuid4().hex[:6]}"
    page = visit(
        "/settings/access", who=invited(heddle, chrome, name, "reader"), size=PHONE, theme="dark"
    )
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("img", name=re.compile("^QR code"))).to_be_visible()
    assert fits(page)
    code = page.get_by_role("textbox", name="Code")
    code.fill("not it")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("alert")).to_contain_text("This code is wrong.")
    secret = base64.b32decode(page.locator("code.secret").inner_text().replace(" ", ""))
    totp = TOTP(secret, 6, SHA1(), 30, enforce_key_length=False)
    code.fill(totp.generate(int(time.time())).decode())
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    codes = page.locator("pre.raw").inner_text().split()
    assert len(set(codes)) == 10
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_role("main")).to_contain_text("10 recovery codes are left")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/signin"))
    page.get_by_label(re.compile("^Name")).fill(name)
    page.get_by_label(re.compile("^Password")).fill(f"{name} walks the tall grass")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    code.fill(codes[0])
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{heddle.url}/settings/access")
    expect(page.get_by_role("main")).to_contain_text("9 recovery codes are left")
