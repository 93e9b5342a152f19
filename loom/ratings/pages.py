"""The page of ratings of a grove: acceptance by model and samplers, and blind comparisons."""

from uuid import uuid4

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.refs import Ref
from loom.people.models import User
from loom.permissions import WRITE
from loom.ratings.commands.rating import Rate, rate
from loom.ratings.queries.blind_pairs import blind_pair
from loom.ratings.queries.candidate_counts import counts_in
from loom.site.display import cast_of
from loom.site.forms import PageForm, Text
from loom.site.page_requests import PersonRequest, frame, in_one_line, person
from loom.trees.queries.lookup import find_node


@require_http_methods(["GET", "HEAD", "POST"])
@person
def ratings_page(request: PersonRequest, uid: str) -> HttpResponse:
    """What became of each model's candidates; a POST says which of a pair is better."""
    actor, _ = access.get_grove(request.user, uid)
    told, refused = "", ""
    if request.method == "POST":
        try:
            told = _judged(request, request.user, actor)
        except CommandError as error:
            refused = in_one_line(error)
    cast = cast_of(actor)
    context = {
        **frame(request, actor, "ratings"),
        "rows": [(row, cast.get(row.model.uid)) for row in counts_in(actor)],
        "pair": blind_pair(actor) if WRITE in actor.permissions else None,
        "told": told,
        "refused": refused,
    }
    return render(request, "pages/ratings.html", context)


class PairForm(PageForm):
    """Two nodes of a tree, the `better` and the `worse`; or `neither` (1) is good."""

    tree = Text()
    better = Text()
    worse = Text()
    neither = Text()


def _judged(request: PersonRequest, user: User, actor: Actor) -> str:
    """Rates both texts of a pair; returns who wrote them, which was hidden before."""
    given = PairForm.read(request)
    names = [given[field][:32] for field in ("tree", "better", "worse")]
    of_tree, tree = access.get_tree(user, names[0], role="writer")
    if tree.grove_id != actor.grove.pk:
        raise not_found("This tree")
    better, worse = (find_node(tree, name.lower()) for name in names[1:])
    if better is None or worse is None or better.parent_slot_id != worse.parent_slot_id:
        raise not_found("This pair", "Reload the page.")
    both_fail = given["neither"] == "1"
    together = Request("", act=uuid4().hex, doing=gettext("judging two texts"))
    for node, is_better in ((better, not both_fail), (worse, False)):
        args = Rate(ref=Ref("node", node.local_id), rating="plus" if is_better else "minus")
        execute(of_tree, tree, rate, args, request=together)
    names = [better.author.name, worse.author.name]
    if both_fail:
        return gettext("Neither. They were by %(one)s and %(other)s.") % {
            "one": names[0],
            "other": names[1],
        }
    return gettext("You chose %(one)s over %(other)s.") % {"one": names[0], "other": names[1]}
