"""The orders of candidates and summaries, read from rows into plain values: the path with its
sources and steering, and the images for a model that sees them."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

from PIL import Image as Pillow

from agents.agent_prompt import sent_of, truncation_in
from agents.context.sections import first_sentence
from agents.context.subject_request import (
    JOINT,
    Endpoint,
    Messages,
    Mode,
    PathPiece,
    PromptTooLong,
    Steering,
    SubjectPath,
    arrange,
    count_small,
    system_said,
    user_said,
    way_of,
)
from agents.providers.orders import AskedParticipant, GenerationOrder
from agents.providers.registry import (
    Provider,
    configuration_of,
    first_of,
    limit_of,
    sees,
    text_for,
    tools_of,
)
from agents.providers.values import Picture, ProviderRequest
from agents.refusals import too_long
from loom import access
from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.participants.provider_keys import allowed_addresses, key_of
from loom.participants.provider_kinds import PROBED, samplers_of
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.permissions import GENERATE
from loom.text.images import described, hashes_in
from loom.text.tokens import count
from loom.trees.grove_texts import grove_texts
from loom.trees.images import bytes_of, smaller
from loom.trees.models import Image, Tree, Workspace
from loom.trees.queries.lookup import NodeRow, below_pruned, fetch, listed, path_of, rows_of
from loom.trees.queries.outline import size_of
from loom.turns import access as turn_access
from loom.turns.generation_lifecycle import question_of
from loom.turns.models import Generation

# The orders of a candidate and of a summary.


SMALLEST_WINDOW = 150
RIVALS = 5  # other tokens that a provider which can is asked for, in place of each


def order_of_candidate(
    generation: Generation, asked: AskedParticipant, *, is_shown: bool, then: str
) -> GenerationOrder:
    """The order of a candidate: to continue the path as the person who asked reads it."""
    participant = generation.participant
    settings_, left = taken_settings(generation)
    ask = ProviderRequest(
        base_url=asked.base_url,
        model=asked.model,
        messages=None,
        prompt=None,
        temperature=first_of(generation.temperature, participant.temperature),
        max_tokens=first_of(generation.tokens, participant.max_tokens, asked.provider.max_tokens),
        stop=(*participant.stop, *settings_.get("stop", ())),
        grammar=settings_.get("grammar", ""),
        rivals=RIVALS if participant.probe.get("found", {}).get("logprobs") else 0,
        samplers={name: value for name, value in settings_.items() if name in PROBED},
        tools=tools_of(participant),
        key="" if is_shown else key_of(participant),
        auth=participant.auth,
    )
    asker = asker_of(generation)
    reading = _reading_of(generation, asker, asked.provider, then)
    allow = allowed_addresses(asked.base_url, allow_private=participant.allow_private)
    hashed = configuration_of(participant, reading.strategy)
    reader = access.at_tree(access.acting_as(asker, participant), generation.tree)
    seen_by = (reader, generation.tree) if sees(participant) else None
    order = GenerationOrder(
        asked.provider, reading, ask, hashed, left_out=left, allow=allow, sees=seen_by
    )
    try:
        return _order(order, reading)
    except PromptTooLong as long:
        raise too_long(long, participant) from None


def _order(order: GenerationOrder, reading: SubjectPath) -> GenerationOrder:
    sent = arrange(reading)
    prompt = order.provider.opening if sent.prompt == "" else sent.prompt
    goes_on = reading.strategy == "continue_final" and sent.text.strip() != ""
    ask = replace(order.ask, messages=sent.messages, prompt=prompt, goes_on=goes_on)
    ask = seeing(ask, order.sees)
    note = " · ".join(part for part in (order.left_out, sent.note) if part)
    return replace(
        order, reading=reading, ask=ask, note=note, text=sent.text, portions=sent.portions
    )


def narrower(order: GenerationOrder) -> GenerationOrder | None:
    """The order with half the window, if a provider's window was too large for this text;
    None if there is no window, or it is already as small as is useful."""
    window = order.reading.window
    if window is None or window // 2 < SMALLEST_WINDOW:
        return None
    return _order(order, replace(order.reading, window=window // 2))


def order_of_summary(generation: Generation, asked: AskedParticipant) -> GenerationOrder:
    """The order for the summary of a node, or of the tree if the point is its root."""
    return _order_of_help(generation, asked, "summary", summarised(generation))


def order_of_judge(
    generation: Generation, asked: AskedParticipant, instructions: str
) -> GenerationOrder:
    """The order for the answer of a judge to a question about a text, as the instructions say."""
    question, text = question_of(asker_of(generation), generation)
    said_ = f"Question: {question}\n\nText:\n{text}\n\nQuestion again: {question}"
    messages = (*system_said(instructions), user_said(said_))
    return _order_of_help(generation, asked, "judge", messages, temperature=0.0)


def _order_of_help(
    generation: Generation,
    asked: AskedParticipant,
    purpose: str,
    messages: Messages,
    *,
    temperature: float | None = None,
) -> GenerationOrder:
    """The order for an answer that becomes no candidate: these messages alone, for this purpose."""
    agent = generation.participant
    ask = ProviderRequest(
        base_url=asked.base_url,
        model=asked.model,
        messages=messages,
        prompt=None,
        temperature=temperature,
        max_tokens=generation.tokens,
        stop=(),
        key=key_of(agent),
        auth=agent.auth,
    )
    return GenerationOrder(
        asked.provider,
        SubjectPath("dialogue", "chat", ()),
        ask,
        configuration_of(agent, None),
        purpose=purpose,
        allow=allowed_addresses(asked.base_url, allow_private=agent.allow_private),
    )


# The path of a candidate, as the person who asked for it reads it.


def samplers_taken(agent: Participant) -> frozenset[str]:
    """The samplers that the agent's endpoint supports."""
    return samplers_of(agent.model_ref, agent.probe.get("found") or {})


def taken_settings(generation: Generation) -> tuple[dict[str, Any], str]:
    """(the settings that the participant's endpoint supports, a note on those left out)."""
    takes = samplers_taken(generation.participant)
    kept = {name: value for name, value in generation.settings.items() if name in takes}
    left = [name for name in generation.settings if name not in takes]
    return kept, f"without {', '.join(left)}: this model does not take it" if left else ""


def _reading_of(generation: Generation, asker: Actor, provider: Provider, then: str) -> SubjectPath:
    participant, tree = generation.participant, generation.tree
    workspace = access.known_workspace_of(generation.asked_by, tree)
    mode: Mode = "buffer" if tree.mode == "buffer" else "dialogue"
    endpoint: Endpoint = "completion" if participant.endpoint == "completion" else "chat"
    if provider.completes:
        endpoint = "completion" if mode == "buffer" else "chat"
    return SubjectPath(
        mode=mode,
        endpoint=endpoint,
        path=(
            *pieces_of(generation, asker, workspace),
            *([PathPiece(0, then, is_human=True)] if then else []),
        ),
        persona=participant.persona,
        system_context=first_of(generation.system_text, tree.system_context) or "",
        truncation=truncation_in(workspace, tree),
        kept=number_of(tree.grove.settings, "truncation_kept"),
        limit=limit_of(provider, participant, tree.grove),
        window=provider.window,
        prefill="prefill" in participant.capabilities,
        way=way_of(participant.capabilities),
        counted=count_small if provider.context else count,
        steering=steering_of(asker, tree),
        left_out=tuple(generation.without),
    )


def steering_of(asker: Actor, tree: Tree) -> Steering:
    """What the tree adds for subjects, with the lore that the person who asks may read."""
    is_person = asker.participant == asker.person
    person = asker if is_person else access.get_actor(asker.user, tree.grove)
    return Steering(
        memory=tree.memory,
        note=tree.author_note,
        depth=tree.note_depth,
        lore=grove_texts().lore(person, tree),
        scan=tree.lore_scan,
        budget=tree.lore_budget,
    )


def pieces_of(
    generation: Generation, asker: Actor, workspace: Workspace | None
) -> tuple[PathPiece, ...]:
    """The path to the generation's point as the asker reads it in their workspace, without nodes
    that are never sent: empty, excluded and pruned ones, and those that are not text."""
    rows = path_of(asker, generation.tree, workspace, generation.point)
    sent = sent_of(rows)
    reader = access.at_tree(access.acting_as(asker, generation.participant), generation.tree)
    sources = _sources_of(reader, [row.id for row in sent])
    say = partial(text_for, reader=generation.participant)
    return tuple(_piece(row, sources.get(row.id, ()), say) for row in sent)


def asker_of(generation: Generation) -> Actor:
    """The person who asked, if they still may: permissions are read again for every call. In a
    turn it is the agent, limited to what its inviter may do."""
    if generation.turn is not None:
        actor = turn_access.acting_in(generation.turn)
        access.demand(actor, {GENERATE}, "continue")
        return actor
    user = generation.asked_by.user
    if user is None:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only members can ask for continuations.",
            hint="ask an owner of the grove to invite you",
        )
    actor = access.get_actor_in(user, generation.tree_id)
    access.demand(actor, {GENERATE}, "continue")
    return actor


def is_sent(row: NodeRow) -> bool:
    """Whether a node of a path is sent to models at all."""
    return bool(sent_of([row]))


def _piece(
    row: NodeRow,
    sources: Iterable[tuple[str, NodeRow]] = (),
    say: Callable[[str], str] = described,
) -> PathPiece:
    by_role: dict[str, list[PathPiece]] = {"context": [], "instruction": []}
    for role, source in sources:
        by_role[role].append(_piece(source, (), say))
    return PathPiece(
        row.id,
        say(row.text),
        row.author_kind == "human",
        local_id=row.local_id,
        context=tuple(by_role["context"]),
        instruction=tuple(by_role["instruction"]),
    )


def _sources_of(reader: Actor, nodes: Sequence[int]) -> dict[int, list[tuple[str, NodeRow]]]:
    """(role, node) of the context and instruction sources of nodes, in order; without nodes that
    are never sent, and without text that the model or the asker may not see."""
    if not nodes:
        return {}
    sql = f"""SELECT node_id, role, item_id FROM trees_nodesource WHERE node_id IN ({listed(nodes)})
        AND role IN ('context', 'instruction') ORDER BY node_id, id"""  # noqa: S608 (row ids)
    named = [(node, role, item_ids.node_id(item)) for node, role, item in fetch(sql)]
    if not named:
        return {}
    readable = _readable(reader, [item for _, _, item in named if item is not None])
    sources: dict[int, list[tuple[str, NodeRow]]] = {}
    for node, role, item in named:
        row = readable.get(item) if item is not None else None
        if row is not None and is_sent(row):
            sources.setdefault(node, []).append((role, row))
    return sources


def _readable(reader: Actor, ids: Sequence[int]) -> dict[int, NodeRow]:
    """Those of the nodes that are in trees the reader may know, and not below a pruned one; by id.
    They were named by who wrote the text, so a model needs no cross_tree to be sent them. Two
    queries for each tree, and two more."""
    homes: dict[int, set[int]] = {}
    for node_id in ids:
        homes.setdefault(node_id >> ORDINAL_BITS, set()).add(node_id)
    seen = access.known_trees(reader).filter(pk__in=homes) if homes else ()
    nodes = {}
    for tree in seen:
        rows = rows_of(sorted(homes[tree.pk]))
        hidden = below_pruned(tree.pk, [row.slot_id for row in rows])
        nodes.update({row.id: row for row in rows if row.slot_id not in hidden})
    return nodes


# The request for a summary, and the texts that the summary of a node or a tree is made from:
# docs/model.md §2.1.


SUMMARISES: Final = (
    "Summarise a text of a larger work in one specific sentence of at most 30 words, in its "
    "language. Say what happens or is said in it, not that it is a text. Write only the sentence."
)
SUMMARISES_ALL: Final = (
    "Summarise a work in at most two sentences, in its language, from the beginnings of its parts. "
    "Say what it is about and how it branches. Write only the sentences."
)
SUMMARISES_DOCUMENT: Final = (
    "Summarise a document in at most two sentences, in its language. Say what it says, not that it "
    "is a document. Write only the sentences."
)
Of = Literal["text", "tree", "document"]
_SUMMARISED: Final[dict[Of, tuple[str, str]]] = {
    "text": (SUMMARISES, "text"),
    "tree": (SUMMARISES_ALL, "parts"),
    "document": (SUMMARISES_DOCUMENT, "document"),
}


SHORT_ABOVE = 200  # if the text above has fewer characters, the one above that is read too
LONGEST = 12_000  # the most characters of one text that are read
PARTS = 40  # texts of a tree: those on the longest path, and where it branches


def summarised(generation: Generation) -> Messages:
    """The request for the summary of a generation's point, made from what models may be sent."""
    tree, point = generation.tree, generation.point
    if generation.about is not None:
        return _text_summarised(generation, generation.about)
    rows = sent_of(path_of(asker_of(generation), tree, None, point))
    if point.parent_slot_id is None:
        before = [tree.title, tree.description]
        return summary_messages(before, JOINT.join(_parts_of(generation)), of="tree")
    if not rows or rows[-1].id != point.pk:
        raise CommandError("REJECTED", f"[{point.local_id}] is not sent to models.", hint="")
    above = rows[-3:-1]
    if above and len(above[-1].text) >= SHORT_ABOVE:
        above = above[-1:]
    before = [tree.title, *(described(node.text)[-LONGEST:] for node in above)]
    return summary_messages(before, described(rows[-1].text)[:LONGEST], of="text")


def _text_summarised(generation: Generation, item: int) -> Messages:
    """The request for the summary of a text of the grove, if the person who asked may read it."""
    document = grove_texts().to_summarise(asker_of(generation), item)
    if document is None:
        raise not_found("This document")
    title, text = document
    return summary_messages([title], described(text)[:LONGEST], of="document")


def _parts_of(generation: Generation) -> list[str]:
    """The beginnings of a tree's texts down to its newest leaf, and the number of its branches."""
    actor, tree = asker_of(generation), generation.tree
    leaf = tree.nodes.filter(kind="text", slot__pruned=False).order_by("-depth", "-id").first()
    rows = sent_of(path_of(actor, tree, None, leaf)) if leaf is not None else []
    step = max(1, len(rows) // PARTS)
    shown = [row.more.summary or first_sentence(described(row.text)) for row in rows[::step]]
    many = size_of(actor, tree).branches
    return [*shown, f"({many:,} branch{'' if many == 1 else 'es'} in all)"]


def summary_messages(before: Sequence[str], text: str, *, of: Of) -> Messages:
    """The request for a summary of `text`; `before` is the title and the text above it."""
    context = JOINT.join(part for part in before if part)
    head = f"What comes before, for you to understand it:{JOINT}{context}{JOINT}" if context else ""
    system, name = _SUMMARISED[of]
    asked = f"{head}The {name} to summarise:{JOINT}{text}"
    return (*system_said(system), user_said(asked))


# The images of a path for a model that sees them, and their size.


MOST_IMAGES = 20  # images of a path that are sent, the last ones
IMAGE_SIDE = 1568  # pixels: providers scale larger images down anyway
MOST_IMAGE_BYTES = 3_500_000  # for each image: base64 adds a third, and providers accept 5 MB
MOST_IMAGE_BYTES_AT_ONCE = 20_000_000


def seeing(ask: ProviderRequest, sees: tuple[Actor, Tree] | None) -> ProviderRequest:
    """The request with the images that the user's texts name; if there are none, every text
    describes its images in words."""
    if sees is None or not any(hashes_in(message["content"]) for message in ask.messages or ()):
        return ask
    texts = [message["content"] for message in ask.messages or () if message["role"] == "user"]
    if images := pictures(*sees, texts):
        return replace(ask, images=images)
    messages = tuple(
        {**message, "content": described(message["content"])} for message in ask.messages or ()
    )
    blocks = tuple(replace(block, texts=tuple(map(described, block.texts))) for block in ask.blocks)
    return replace(ask, messages=messages, blocks=blocks)


def pictures(actor: Actor, tree: Tree, texts: Iterable[str]) -> Mapping[str, Picture]:
    """The images that texts name, by hash, from trees that the actor can read; the last ones if
    there are too many or they are too large together. Missing and broken ones are left out."""
    named = list(dict.fromkeys(sha for text in reversed([*texts]) for sha in hashes_in(text)[::-1]))
    if not named:
        return {}
    reach = access.trees_for(actor).values("pk")
    rows = Image.objects.filter(sha256__in=named[: 5 * MOST_IMAGES], tree__erasing_at=None)
    rows = rows.filter(tree=tree) | rows.filter(tree__in=reach)
    known = {row.sha256: row for row in rows}
    pictures_named: dict[str, Picture] = {}
    left = MOST_IMAGE_BYTES_AT_ONCE
    for sha256 in named:
        picture = _sent_image(known[sha256]) if sha256 in known else None
        left -= len(picture.data) if picture else 0
        if left < 0 or len(pictures_named) == MOST_IMAGES:
            break
        if picture is not None:
            pictures_named[sha256] = picture
    return pictures_named


def _sent_image(image: Image) -> Picture | None:
    """The image as it is, or scaled down; None if its file is missing or broken."""
    try:
        raw = bytes_of(image)
        if max(image.width, image.height) > IMAGE_SIDE or len(raw) > MOST_IMAGE_BYTES:
            return Picture("image/jpeg", b64encode(smaller(raw, IMAGE_SIDE)).decode())
    except (CommandError, OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
        return None
    return Picture(image.media_type, b64encode(raw).decode())
