"""Django's cache raises while the broker is away; most of what is kept there is kept only to be
faster, and asks `loom.engine.optional_cache`."""

import ast

from tests.house.sources import files, name_of, nodes_of

# Those who have to know that the cache is away: they count, they see that something is done once,
# they hold what has no other place, or they are a look of the sweeper, which looks again.
ASK_ITSELF = {
    "agents/gateway/unrecorded.py",
    "agents/oauth/commands.py",
    "agents/timestamps/tasks.py",
    "loom/choices/commands.py",
    "loom/engine/changed_trees.py",
    "loom/engine/optional_cache.py",
    "loom/meaning/tasks.py",
    "loom/operations/tasks.py",
    "loom/participants/commands.py",
    "loom/passkeys/ceremonies.py",
    "loom/people/commands/accounts.py",
    "loom/people/mail.py",
    "loom/reading/pages/public_tree.py",
    "loom/saml/once.py",
    "loom/saml/pages.py",
    "loom/tasks.py",
}


def test_no_other_module_asks_the_cache_itself() -> None:
    asking = {
        name_of(path)
        for path in files(".py")
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom)
        and node.module == "django.core.cache"
        and name_of(path).startswith(("loom/", "agents/", "config/"))
    }
    assert asking == ASK_ITSELF
