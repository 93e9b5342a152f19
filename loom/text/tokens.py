"""How many tokens a text has, estimated. Pure."""

from loom.text.images import IMAGE_SIGN, IMAGE_TOKENS, hashes_in


def count(text: str) -> int:
    """The approximate number of tokens of a text for most models: a quarter of its characters, and
    for each image the maximum."""
    return -(-len(text) // 4) + (IMAGE_TOKENS * len(hashes_in(text)) if IMAGE_SIGN in text else 0)


def thousands(tokens: int) -> str:
    """`37`, `0.4k`, `18.6k`, `50k`: in thousands with one decimal; below a hundred exact."""
    if tokens < 100:
        return f"{tokens}"
    return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"
