"""Pages without scripts: they can be read, and their forms work."""

import re

import pytest
from django.db import connection
from django.test import Client

from loom import access
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError, not_found
from loom.links.models import Trail
from loom.people.commands import groves
from loom.people.models import Grove, Membership, Participant, User
from loom.permissions import WRITE
from loom.site.page_requests import as_shown
from loom.trees.commands.trees import change_tree
from loom.trees.models import Node, Tree, Workspace
from tests.triggers import triggers_aside
from tests.web.conftest import Visitor


def text(client: Client, path: str) -> str:
    """The page, which must be there."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def write(client: Client, tree: Tree, words: str, **fields: str) -> str:
    """Where the form leads after writing `words`."""
    answer = client.post(f"/trees/{tree.uid}/line", {"text": words, **fields})
    assert answer.status_code == 302
    return str(answer["Location"])


def test_an_empty_grove_teaches(owner: User, visitor: Visitor) -> None:
    assert "Create your first tree above" in text(visitor(owner), "/")


def test_a_tree_is_made_written_and_read_without_scripts(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    client = visitor(owner)
    answer = client.post(f"/groves/{grove.uid}/trees", {"title": "Marie", "mode": "dialogue"})
    tree = Tree.objects.get(title="Marie")
    assert answer["Location"] == f"/trees/{tree.uid}"
    assert "This tree is empty" in text(client, f"/trees/{tree.uid}")
    at = write(client, tree, "One *fine* day.\r\nNew line.")
    page = text(client, at)
    assert "<em>fine</em>" in page
    assert Node.objects.get(tree=tree, depth=1).text == "One *fine* day.\nNew line."
    assert "Marie" in text(client, "/")
    answer = client.post(f"/groves/{grove.uid}/trees", {"ask": "m&x"})
    assert answer["Location"].endswith("?ask=m%26x")


@pytest.mark.parametrize("title", ["  ", "\u200b"])
def test_a_tree_with_a_title_that_nobody_sees_is_untitled(
    owner: User, grove: Grove, visitor: Visitor, title: str
) -> None:
    client = visitor(owner)
    client.post(f"/groves/{grove.uid}/trees", {"title": title, "mode": "dialogue"})
    assert "Untitled tree" in text(client, "/")
    tree = Tree.objects.get(title="")
    change_tree(get_actor(owner, grove), tree, {"title": "Marie"})
    change_tree(get_actor(owner, grove), tree, {"title": title})
    tree.refresh_from_db()
    assert tree.title == ""


@pytest.mark.parametrize("words", [" keep \n", "a\n←\nb", '\\ "quoted" \\n', "   → x"])
def test_the_form_keeps_every_character(
    owner: User, tree: Tree, visitor: Visitor, words: str
) -> None:
    write(visitor(owner), tree, words.replace("\n", "\r\n"), at="")
    assert Node.objects.get(tree=tree, depth=1).text == words


def test_an_arrow_in_the_form_is_a_command(owner: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(owner)
    write(client, tree, "One.")
    node = Node.objects.get(tree=tree, depth=1)
    write(client, tree, f'→ bookmark {node.local_id} "start"')
    assert "★ start" in text(client, f"/trees/{tree.uid}?node={node.local_id}")


def test_a_refused_line_says_why_and_changes_nothing(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    where = write(client, tree, "→ prune root")
    assert "REJECTED" in text(client, where)


def test_a_reader_sees_no_form_and_may_not_send_one(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    write(visitor(owner), tree, "One.")
    client = visitor(reader)
    page = text(client, f"/trees/{tree.uid}")
    assert "<loom-composer>" not in page
    # Nodes are drawn for everybody alike: the page says around them what its reader may do.
    assert re.findall(r'data-can="([^"]*)"', page) == [""]
    buttons = re.findall(r'<button[^>]*data-act="(?:edit|respond|prune|continue)"[^>]*>', page)
    assert buttons and all("data-needs=" in button for button in buttons)
    write(client, tree, "Mine.")
    assert Node.objects.filter(tree=tree).count() == 2


def test_hostile_text_is_text_on_every_page(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'>"
    Tree.objects.filter(pk=tree.pk).update(title=hostile, description=hostile)
    Participant.objects.filter(pk=actor.participant.pk).update(name=hostile)
    tree.refresh_from_db()
    actor = get_actor(owner, actor.grove)
    at = execute_line(actor, tree, Request(line=f"respond\n{hostile}\n←")).body["position"]
    quoted = hostile.replace("\\", "\\\\").replace('"', '\\"')
    for line in (f'annotate {at} "{quoted}"', f'bookmark {at} "{quoted}"', f'tag {at} #"a<b>"'):
        execute_line(actor, tree, Request(line=line))
    client = visitor(owner)
    base = f"/trees/{tree.uid}"
    places = [
        "/",
        f"{base}?node={at}",
        f"{base}/path?node={at}",
        f"{base}/weave?node={Node.objects.get(tree=tree, depth=0).local_id}",
        f"{base}/nodes/{at}",
        f"{base}/bookmarks",
        f"{base}/history",
        f"{base}/about",
        f"/groves/{actor.grove.uid}/people",
        f"/groves/{actor.grove.uid}/participants",
        f"/groves/{actor.grove.uid}?q=alert",
    ]
    for place in places:
        page = text(client, place)
        assert "<script>alert" not in page, place
        assert "<img" not in page, place


def test_pages_allow_no_inline_script_or_style(owner: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(owner)
    write(client, tree, "One.")
    for path in ("/", f"/trees/{tree.uid}", "/settings", "/signin"):
        answer = (visitor() if path == "/signin" else client).get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        page = answer.content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page)
        for script in re.findall(r"<script[^>]*>", page):
            assert "src=" in script or 'type="application/json"' in script


def test_a_long_path_shows_its_end_and_the_way_up(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    for number in range(1, 75):
        execute_line(actor, tree, Request(line=f'respond "text {number}."'))
    client = visitor(owner)
    page = text(client, f"/trees/{tree.uid}")
    assert page.count('<article class="node') == 60
    assert "text 74." in page
    first = re.search(r'data-load-above="(\w+)"', page)
    assert first
    above = text(client, f"/trees/{tree.uid}/above?before={first[1]}")
    assert above.count("<article") == 14
    assert "text 1." in above
    assert "data-load-above" not in above


def test_only_what_lies_below_is_sent_when_the_rest_is_drawn(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    for word in ("one", "two", "three"):
        execute_line(actor, tree, Request(line=f'respond "{word}"'))
    one, three = (Node.objects.get(tree=tree, text=word).local_id for word in ("one", "three"))
    client = visitor(owner)
    page = text(client, f"/trees/{tree.uid}/path?node={three}&after={one}")
    assert page.count("<article") == 2
    other = client.get(f"/trees/{tree.uid}/path?node={one}&after={three}", headers={"X-Part": "1"})
    assert other.status_code == 409


def test_somebody_new_begins_where_the_tree_first_forks(
    actor: Actor, writer: User, tree: Tree, visitor: Visitor
) -> None:
    for line in ('respond "one"', 'respond "two"', 'respond parent "two, otherwise"'):
        execute_line(actor, tree, Request(line=line))
    page = text(visitor(writer), f"/trees/{tree.uid}")
    assert page.count('<article class="node') == 1
    assert page.count('<article class="card') == 2


def test_a_tree_opens_at_its_first_text_and_never_at_an_empty_node(
    actor: Actor, writer: User, tree: Tree, visitor: Visitor
) -> None:
    for line in ('respond root "An opening."', 'respond root "Another."'):
        execute_line(actor, tree, Request(line=line))
    page = text(visitor(writer), f"/trees/{tree.uid}")
    assert page.count('<article class="node') == 1 and "An opening." in page
    opening = Node.objects.get(tree=tree, text="An opening.").local_id
    execute_line(actor, tree, Request(line=f"prune {opening}"))
    Workspace.objects.filter(tree=tree).exclude(participant=actor.participant).delete()
    assert "Another." in text(visitor(writer), f"/trees/{tree.uid}").split("<article")[1]


def test_a_tree_whose_only_opening_is_empty_opens_at_its_first_text_below_that(
    actor: Actor, writer: User, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request(line='respond root "Soon empty."'))
    empty = Node.objects.get(tree=tree, text="Soon empty.").local_id
    for line in (f'respond {empty} "An opening."', f'respond {empty} "Another."'):
        execute_line(actor, tree, Request(line=line))
    with triggers_aside(connection):  # as other programs export it
        Node.objects.filter(tree=tree, local_id=empty).update(text="")
    Workspace.objects.filter(tree=tree).delete()
    page = text(visitor(writer), f"/trees/{tree.uid}")
    assert page.count('<article class="node') == 2 and "An opening." in page


def test_a_candidate_of_blanks_alone_says_so(
    actor: Actor, owner: User, tree: Tree, visitor: Visitor
) -> None:
    page = f"/trees/{tree.uid}?node={Node.objects.get(tree=tree, depth=0).local_id}"
    for line in ('respond root "An opening."', "respond root\n \n\t\n"):
        assert "line breaks only" not in text(visitor(owner), page)
        execute_line(actor, tree, Request(line=line))
    cards = text(visitor(owner), page).split('<article class="card')
    assert [("line breaks only" in card) for card in cards[1:]] == [False, True]


def test_dates_are_written_by_the_browser_in_its_own_way(
    actor: Actor, owner: User, visitor: Visitor
) -> None:
    groves.make_invitation(actor, role="reader", days=3, uses=1)
    page = text(visitor(owner), f"/groves/{actor.grove.uid}/people")
    assert re.search(r'expires <time datetime="[0-9T:.+-]+" data-full>[0-9: -]+ UTC</time>', page)


def test_unknown_places_answer_with_a_friendly_page(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    for path in (
        "/nowhere",
        "/trees/nothere",
        f"/trees/{tree.uid}?node=z9z9",
        f"/trees/{tree.uid}?node=%00",
        f"/trees/{tree.uid}/nodes/z9z9",
    ):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "Your trees" in answer.content.decode()


def test_an_outsider_finds_nothing(outsider: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(outsider)
    for part in ("", "/path", "/weave", "/bookmarks", "/history", "/about", "/search?q=x"):
        assert client.get(f"/trees/{tree.uid}{part}").status_code == 404
    assert client.get(f"/groves/{tree.grove.uid}").status_code == 404
    assert client.get(f"/groves/{tree.grove.uid}/people").status_code == 404


def test_an_archived_tree_is_out_of_the_list_and_erased_by_its_title(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    client.post(f"/trees/{tree.uid}/about/erase", {"title": "Marie"})
    assert client.get(f"/trees/{tree.uid}").status_code == 200
    client.post(f"/trees/{tree.uid}/about/archive")
    assert "Marie" not in text(client, "/")
    assert "Marie" in text(client, "/?archived=1")
    assert "read-only" in text(client, f"/trees/{tree.uid}")
    client.post(f"/trees/{tree.uid}/about/erase", {"title": "Mary"})
    assert client.get(f"/trees/{tree.uid}").status_code == 200
    client.post(f"/trees/{tree.uid}/about/erase", {"title": "Marie"})
    assert client.get(f"/trees/{tree.uid}").status_code == 404


def test_search_finds_over_all_trees(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request(line='respond "the summer her father left"'))
    page = text(visitor(owner), f"/groves/{actor.grove.uid}?q=FATHER")
    assert "1 result" in page
    assert "summer her father" in page


def test_owners_choose_people_and_writers_do_not(
    owner: User, writer: User, grove: Grove, visitor: Visitor
) -> None:
    client = visitor(owner)
    page = client.post(f"/groves/{grove.uid}/people/invite", {"role": "reader", "days": "1"})
    link = re.search(r"/invitations/[\w-]+", page.content.decode())
    assert link
    assert link[0] not in text(client, f"/groves/{grove.uid}/people")
    client.post(f"/groves/{grove.uid}/people/role", {"user": "writer", "role": "reader"})
    assert Membership.objects.get(user=writer).role == "reader"
    other = visitor(writer)
    assert other.post(f"/groves/{grove.uid}/people/invite", {"role": "owner"}).status_code == 403
    assert "Invite people" not in text(other, f"/groves/{grove.uid}/people")


def test_a_model_is_added_changed_and_taken_out_and_its_key_is_never_shown(
    owner: User, writer: User, grove: Grove, visitor: Visitor
) -> None:
    client = visitor(owner)
    form = {
        "name": "Muse",
        "model_ref": "openai:gpt",
        "base_url": "https://models.example.com/v1",
        "endpoint": "chat",
        "api_key": "sk-very-secret",
        "persona": " Speak softly. \r\n",
        "stop": "\\n\\n\r\nEND",
        "context_limit": "8192",
        "way": ["instruction", "prefill"],
    }
    base = f"/groves/{grove.uid}/participants"
    assert client.post(f"{base}/new", form).status_code == 302
    participant = Participant.objects.get(name="Muse")
    assert (participant.persona, participant.stop, participant.capabilities) == (
        " Speak softly. \n",
        ["\n\n", "END"],
        ["prefill", "instruction"],
    )
    assert participant.sealed_key
    page = text(client, f"{base}/{participant.uid}")
    assert "sk-very-secret" not in page
    client.post(f"{base}/{participant.uid}", {**form, "api_key": "", "temperature": "0.5"})
    participant.refresh_from_db()
    assert participant.temperature == 0.5
    assert participant.sealed_key
    assert client.post(f"{base}/{participant.uid}", {**form, "temperature": "9"}).status_code == 400
    assert visitor(writer).get(f"{base}/{participant.uid}").status_code == 403
    client.post(f"{base}/{participant.uid}/archive")
    participant.refresh_from_db()
    assert participant.archived_at is not None


def test_settings_change_keys_are_shown_once_and_revoked(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    client.post("/settings/profile", {"display_name": "Joe", "theme": "dark"})
    assert 'data-theme="dark"' in text(client, "/settings")
    page = client.post("/settings/key", {"name": "laptop"}).content.decode()
    secret = re.search(r"hd_[\w-]+", page)
    assert secret
    assert secret[0] not in text(client, "/settings")
    client.post("/settings/revoke-key", {"key": owner.api_keys.get().uid})
    assert owner.api_keys.get().revoked_at is not None


def test_a_new_password_signs_other_browsers_out(owner: User, visitor: Visitor) -> None:
    first, second = visitor(), visitor()
    for client in (first, second):
        client.post("/signin", {"username": "owner", "password": "owner-password"})
    form = {"old": "owner-password", "new": "walks the tall grass"}
    first.post("/settings/password", form)
    assert first.get("/settings").status_code == 200
    assert second.get("/settings").status_code == 302


def test_forms_of_another_site_are_refused(owner: User, tree: Tree) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    answer = client.post(f"/trees/{tree.uid}/line", {"text": "x"})
    assert answer.status_code == 403
    assert "Reload the page" in answer.content.decode()
    assert Node.objects.filter(tree=tree).count() == 1


def test_a_node_that_is_not_there_leads_to_the_tree_without_it(
    owner: User, tree: Tree, visitor: Visitor, outsider: User
) -> None:
    answer = visitor(owner).get(f"/trees/{tree.uid}?node=zzz9")
    assert answer.status_code == 404
    assert f'href="/trees/{tree.uid}"' in answer.content.decode()
    answer = visitor(outsider).get(f"/trees/{tree.uid}?node=zzz9")
    assert answer.status_code == 404
    assert f'href="/trees/{tree.uid}"' not in answer.content.decode()


def test_a_page_that_is_not_found_has_no_hint_for_lines(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    for address in (f"/trees/{tree.uid}/nodes/a7x2/provenance", "/trails/missing"):
        answer = visitor(owner).get(address)
        assert answer.status_code == 404 and "→" not in answer.content.decode()
    refused = as_shown(not_found("[a7x2]", "→ find or → tree shows what is here"))
    assert refused.hint == ""
    for hint in ("or POST /api/checks", 'save:"gloss"', 'such as {"n": 500}', "tag=NAME"):
        assert as_shown(not_found("It", hint)).hint == ""
    for hint in ("use n:10 or less", "Open the tree without it.", "choose another name"):
        assert as_shown(not_found("It", hint)).hint


def test_a_page_knows_the_role_that_it_was_drawn_for(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    for user, role in ((owner, "owner"), (reader, "reader")):
        assert f'"role": "{role}"' in text(visitor(user), f"/trees/{tree.uid}")


def test_a_page_does_not_name_the_permissions_that_somebody_lacks(reader: User, tree: Tree) -> None:
    with pytest.raises(CommandError) as refusal:
        access.demand(access.get_actor(reader, tree.grove), {WRITE}, "a draft")
    refused = as_shown(refusal.value)
    assert refused.message == "You may not do this here."
    assert refused.hint and "loom_" not in refused.hint


def test_a_trail_that_is_replayed_is_told_in_words(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    for line in ('respond "One."', "open here", 'trail save "tower"'):
        execute_line(actor, tree, Request(line=line))
    trail = Trail.objects.get()
    answer = visitor(owner).post(f"/trails/{trail.uid}", {"replay": "1"}, follow=True)
    page = answer.content.decode()
    assert "The texts of the trail are open in your windows." in page
    assert "replayed trail:" not in page
