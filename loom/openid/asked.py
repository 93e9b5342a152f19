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
        username=str(claims.get("preferred_username") or ""),
        name=str(claims.get("name") or ""),
        email=str(claims.get("email") or ""),
        groups=groups_in(groups if isinstance(groups, list) else [groups]),
    )
