"""The organisation of the environment, without the library of the protocol: most processes never
sign anybody in."""

from typing import Any

from django.conf import settings

from loom.identities.issuers import Account, Issuer, groups_in, offers_accounts


@offers_accounts
def openid() -> Issuer | None:
    """Where people sign in by OpenID Connect; None if the operator has set nothing up."""
    given = settings.OPENID
    if not given.issuer:
        return None
    return Issuer("openid", given.issuer, given.name, given.new, given.groups)


def account_in(claims: dict[str, Any]) -> Account:
    """The account that these claims are about: `sub`, and maybe names, an address and groups."""
    groups = claims.get(settings.OPENID.groups_claim)
    return Account(
        subject=claims["sub"],
        username=_words(claims.get("preferred_username")),
        name=_words(claims.get("name")),
        email=_words(claims.get("email")),
        groups=groups_in(groups if isinstance(groups, list) else [groups]),
    )


def _words(claim: object) -> str:
    """A claim as text; half a character, which JSON can hold and no database, becomes a sign."""
    return str(claim or "").encode(errors="replace").decode()
