"""Codes of an authenticator app (RFC 6238, by `cryptography`), the address that an app reads, and
that address as a QR code."""

import base64
import secrets
import time
from urllib.parse import quote, urlencode

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

from loom.errors import CommandError

STEP_S = 30  # seconds for which an app shows a code
DIGITS = 6
NEAR = 1  # steps before and after now that are accepted, as clocks differ
SECRET_BYTES = 20
QUIET = 4  # modules around a QR code, as its norm asks for


def new_secret() -> bytes:
    """A new secret."""
    return secrets.token_bytes(SECRET_BYTES)


def seal(secret: bytes) -> str:
    """The secret, encrypted with that of the installation."""
    return _fernet().encrypt(secret).decode()


def open_sealed(sealed: str) -> bytes:
    """The secret that was sealed. Raises CommandError REJECTED if the installation's secret has
    changed."""
    try:
        return _fernet().decrypt(sealed.encode())
    except InvalidToken:
        raise CommandError(
            "REJECTED",
            "Your second factor can't be read with this installation's secret.",
            hint="Ask an operator to reset it.",
        ) from None


def _fernet() -> Fernet:
    # Its own key, so that no other use of the secret can open a seal.
    derived = HKDF(SHA256(), length=32, salt=None, info=b"heddle second factors")
    return Fernet(base64.urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode())))


def step_of(secret: bytes, code: str, *, after: int) -> int | None:
    """The time step whose code this is, if it is near now and later than `after`; None for a wrong
    or used code."""
    given = code.strip().replace(" ", "")
    if not (given.isascii() and given.isdecimal() and len(given) == DIGITS):
        return None
    now = int(time.time()) // STEP_S
    app = TOTP(secret, DIGITS, SHA1(), STEP_S, enforce_key_length=False)  # noqa: S303 (RFC 6238)
    for step in range(now - NEAR, now + NEAR + 1):
        if step > after and secrets.compare_digest(app.generate(step * STEP_S), given.encode()):
            return step
    return None


def shown_secret(secret: bytes) -> str:
    """The secret to type into an app, in groups of four letters."""
    letters = base64.b32encode(secret).decode()
    return " ".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def app_address(secret: bytes, name: str, host: str) -> str:
    """The `otpauth:` address from which an app takes the secret and how to name it."""
    label = quote(f"Heddle {host}:{name}")
    query = {"secret": base64.b32encode(secret).decode(), "issuer": f"Heddle {host}"}
    return f"otpauth://totp/{label}?{urlencode(query, quote_via=quote)}"


def qr_code(words: str, title: str) -> SafeString:
    """A QR code as SVG, dark on white in every theme."""
    # Here, as it costs 16 MB of memory, which most processes never need.
    from reportlab.graphics.barcode.qrencoder import QR8bitByte, QRCode, QRErrorCorrectLevel

    code = QRCode(None, QRErrorCorrectLevel.M)
    code.addData(QR8bitByte(words))
    code.make()
    size = len(code.modules) + 2 * QUIET
    dots = "".join(
        f"M{column + QUIET} {row + QUIET}h1v1h-1z"
        for row, line in enumerate(code.modules)
        for column, is_dark in enumerate(line)
        if is_dark
    )
    return format_html(
        '<svg class="qr" role="img" aria-label="{}" viewBox="0 0 {} {}" width="232" height="232" '
        'shape-rendering="crispEdges"><rect width="100%" height="100%" fill="#fff"/>'
        '<path fill="#000" d="{}"/></svg>',
        title,
        size,
        size,
        dots,
    )
