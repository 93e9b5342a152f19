"""The release of this program: the page about it, the API's schema and `GET /healthz` print it."""

VERSION = "0.1.0"
