"""The storage of images in a bucket, as Django's STORAGES has it."""

from typing import Any

from config.env import Bucket

CONNECT_S, READ_S, TRIES = 3, 15, 2


def bucket_storage(bucket: Bucket) -> dict[str, Any]:
    """django-storages' S3, private. The names of objects are hashes of their bytes, so the same
    name is the same object."""
    from botocore.config import Config

    client = Config(
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        retries={"total_max_attempts": TRIES},
        signature_version="s3v4",
        s3={"addressing_style": "path" if bucket.endpoint else "auto"},
        # Storages other than Amazon's know no checksums at the end of a body.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    options = {
        "bucket_name": bucket.name,
        "location": bucket.prefix,
        "endpoint_url": bucket.endpoint or None,
        "region_name": bucket.region or None,
        "access_key": bucket.key or None,
        "secret_key": bucket.secret or None,
        "default_acl": None,
        "file_overwrite": True,
        "querystring_auth": True,
        "client_config": client,
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
