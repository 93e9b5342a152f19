"""What the API answers about public links, for the OpenAPI schema."""

from pydantic import BaseModel


class PublicLink(BaseModel):
    """A link by which anybody may read one tree."""

    id: str
    made_by: str
    created_at: str
    expires_at: str
    revoked_at: str | None


class NewPublicLink(PublicLink):
    """The same with the link itself, which is shown this once."""

    link: str


class PublicLinkPage(BaseModel):
    """One page of public links."""

    count: int
    results: list[PublicLink]
