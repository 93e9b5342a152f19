"""The types of the API's bodies, made from its OpenAPI schema by `manage.py client`.

A field that may be missing is NotRequired; a server that is newer may send more fields.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Above(TypedDict):
    """One version that a node depends on; `call` if a model wrote it, else empty."""

    id: str
    by: str
    at: str
    hash: str
    call: str


class AcceptanceOfGrove(TypedDict):
    """By model and samplers, the most candidates first."""

    results: list[AcceptanceRow]


class AcceptanceRow(TypedDict):
    """What became of a model's candidates with these samplers. `accepted`: below how many of
    them somebody went on."""

    participant: str
    name: str
    samplers: str
    candidates: int
    accepted: int
    plus: int
    minus: int


class Answer(TypedDict):
    """The answer to a line that ran; `repeated` if its key was sent before. `canonical` names a
    long text that became a node: its first words, length and SHA-256. `did` says what only the
    words of `reply` tell a person."""

    ok: Literal[True]
    reply: str
    did: NotRequired[dict[str, Any]]
    canonical: str
    step: int | None
    stream: str
    events: list[int]
    refs: list[str]
    generations: list[str]
    position: str
    repeated: NotRequired[bool]


class Augment(TypedDict):
    """A document that can be loaded into the prompt. `loaded` also if another one requires it;
    `missing` names requirements that do not exist."""

    name: str
    document: str
    loaded: bool
    chosen: bool
    pinned: bool
    requires: list[str]
    missing: list[str]
    required_by: list[str]
    tools: list[str]
    characters: int


class AugmentPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Augment]


class Author(TypedDict):
    """An author."""

    id: str
    name: str
    kind: Literal["human", "model"]


class Bookmark(TypedDict):
    """Somebody's bookmark."""

    label: str
    participant: str


class BranchOnMap(TypedDict):
    """One of the largest branches: its tree and the text at its top, with its first words; on
    the map of a grove a tree with its title."""

    tree: str
    node: str
    words: str


class Broken(TypedDict):
    """A node that does not verify, and why."""

    node: str
    reason: str


class Budget(TypedDict):
    """The budget of a turn."""

    preset: Literal["quick", "standard", "thorough"]
    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int


class BudgetOfExploration(TypedDict):
    """What an exploration may use, or has used: calls of models, tokens read and written,
    dollars (null: no limit of its own)."""

    steps: int
    tokens: int
    usd: float | None


class CallBody(TypedDict):
    """One exchange with a provider, without keys. `response` is the start of the body as text;
    `sha256` is the hash of its bytes, transfer coding removed. Unless `open`, the caller may
    not see every item in it, and gets no texts; `sections` are names and lengths."""

    id: str
    tree: str
    participant: str
    origin: str | None
    turn: str | None
    purpose: str
    provider: str
    configuration: str
    open: bool
    request: dict[str, Any]
    sections: list[dict[str, Any]]
    thoughts: list[str]
    response: str
    length: int
    bytes: Literal["exact", "reassembled"]
    status: int | None
    headers: dict[str, str]
    sha256: str
    usage: dict[str, Any]
    note: str
    strategy: str | None
    generations: list[str]
    nodes: list[str]
    started_at: str
    first_at: str | None
    sealed_at: str | None


class ChapterOf(TypedDict):
    """A chapter in its place: `key` names it, `node` is where it begins, `level` that of its
    heading; `words` without its title; `target` 0 if none was set."""

    key: str
    title: str
    level: int
    node: str
    words: int
    target: int
    note: str
    beginning: str


class CheckChanged(TypedDict):
    """The changes to a check."""

    name: NotRequired[str]
    parameters: NotRequired[dict[str, Any]]
    on_save: NotRequired[bool]


class CheckOf(TypedDict):
    """A check. `scope` is grove, tree:ID or doc:ID; `parameters` has the one of its kind:
    `text` (contains, absent), `n` (max_words, min_words), `pattern` (regex), `question`
    (judge)."""

    id: str
    grove: str
    name: str
    kind: Literal["contains", "absent", "max_words", "min_words", "regex", "json", "python", "judge"]
    parameters: dict[str, Any]
    scope: str
    on_save: bool
    agent: str | None
    by: str
    at: str
    archived: bool


class CheckOfPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[CheckOf]


class CheckSent(TypedDict):
    """A new check; without a grove, in the caller's first. `agent` is the id of the model that
    judges, only of a judge."""

    name: str
    kind: Literal["contains", "absent", "max_words", "min_words", "regex", "json", "python", "judge"]
    parameters: NotRequired[dict[str, Any]]
    scope: NotRequired[str]
    on_save: NotRequired[bool]
    agent: NotRequired[str]
    grove: NotRequired[str]


class ChoicesChanged(TypedDict):
    """The changes: whether what is shown is logged, after how many days it is deleted, whether
    candidates may be ordered, whether one's own words may be in what other members export for
    training."""

    logs: NotRequired[bool]
    keep_days: NotRequired[Literal[30, 90, 365]]
    orders: NotRequired[bool]
    consents: NotRequired[bool]


class ChoicesOf(TypedDict):
    """What the caller has decided about their choices, how much is logged and since when, how
    many choices there are, what was learned from them (weights by name; `author:` with the id
    of who wrote; `why` in words), and how good it is."""

    logs: bool
    keep_days: Literal[30, 90, 365]
    orders: bool
    consents: bool
    logged: int
    oldest: str | None
    choices: int
    why: str
    said: str
    weights: dict[str, float]
    figures: FiguresOf | None


class CiteIn(TypedDict):
    """A piece of evidence with the local id of its claim; with its `record` where the evidence
    of one claim or about one item is asked for."""

    id: str
    item: str
    side: str
    undercuts: str | None
    version: str
    part: str
    quote: QuoteOf | None
    gate: str | None
    why: str
    strength: str
    by_what: str
    answer: str
    addressed: bool
    taken_back: bool
    by: str
    at: str
    claim: str
    record: EvidenceRecord | None


class CiteOf(TypedDict):
    """A piece of evidence. `side` is for, against or undercuts; `gate` is what was said about
    its quote: found, elsewhere, joined or not there. `taken_back`: whoever gave it has undone
    that, and it counts for nothing."""

    id: str
    item: str
    side: str
    undercuts: str | None
    version: str
    part: str
    quote: QuoteOf | None
    gate: str | None
    why: str
    strength: str
    by_what: str
    answer: str
    addressed: bool
    taken_back: bool
    by: str
    at: str


class ClaimListed(TypedDict):
    """A claim without its evidence. The numbers count each item once; `against` is what is not
    addressed. `person` is responsible for the claimant, and has the request where
    `waits_for_a_person`."""

    id: str
    tree: str
    statement: str
    state: str
    scope: str
    test: str
    conclusion: str
    level: str | None
    vetoed: bool
    strong: int
    moderate: int
    weak: int
    against: int
    waits_for_a_person: bool
    by: str
    person: str
    at: str
    changed_at: str


class ClaimListedPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[ClaimListed]


class ClaimOne(TypedDict):
    """A claim with what may be done next (`allowed`), what the `next` level demands, its
    evidence as far as the caller may see it (of `evidence_total`), counter-evidence first, what
    the claimant has only opened (`explored`), and its commitments."""

    id: str
    tree: str
    statement: str
    state: str
    scope: str
    test: str
    conclusion: str
    level: str | None
    vetoed: bool
    strong: int
    moderate: int
    weak: int
    against: int
    waits_for_a_person: bool
    by: str
    person: str
    at: str
    changed_at: str
    about: str | None
    why: str
    allowed: list[str]
    next: str
    obligations: list[ObligationOf]
    evidence: list[CiteOf]
    evidence_total: int
    explored: list[OpeningOf]
    commitments: list[CommitmentOf]


CommandForm = TypedDict(
    "CommandForm",
    {
        "name": "str",
        "verb": "str",
        "syntax": "str",
        "help": "str",
        "group": "str",
        "class": "str",
        "permissions": "list[str]",
        "aliases": "list[str]",
        "arguments": "dict[str, Any]",
        "allowed": "bool",
    },
)


class CommandFormPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[CommandForm]


class CommitmentOf(TypedDict):
    """A commitment: `hash` is the SHA-256 of the canonical JSON of `record`, with the evidence
    that the reader may not see; `unseen` is how much that is."""

    id: str
    level: str
    record: dict[str, Any]
    unseen: int
    hash: str
    by: str
    approved_by: str | None
    at: str
    vetoed_by: str | None
    veto: str


class ContextBody(TypedDict):
    """What the next request will contain: the messages of a chat, system first, or a `prompt`.
    Unless `open`, the caller may not see every item in it, and gets no texts. `tokens` is the
    sum of the sections, `limit` the maximum for all of them."""

    participant: str
    how: Literal["turn", "continue"]
    node: str
    open: bool
    messages: list[dict[str, str]]
    prompt: str | None
    sections: list[SectionBody]
    tokens: int
    limit: int
    note: str
    price: PriceBody
    before: DifferenceBody | None


class ContributionOf(TypedDict):
    """The texts and characters that somebody added on a day (UTC)."""

    day: str
    participant: str
    texts: int
    characters: int


class Counts(TypedDict):
    """Counts of what belongs to a node and is visible. `descendants` only on request: counted
    up to 10,000, and if there are more `is_more`."""

    children: int
    annotations: int
    links: int
    versions: int
    descendants: NotRequired[int | None]
    is_more: NotRequired[bool | None]


class Difference(TypedDict):
    """What changed from one revision to another, in order."""

    before: int
    after: int
    pieces: list[PieceOf]


class DifferenceBody(TypedDict):
    """The difference from the previous request: its call, the share of this text that both
    begin with, and the lines that differ, as in a unified diff; `cut`: there are more of them."""

    call: str
    at: str
    share: float
    lines: list[str]
    cut: bool


class DocumentChanged(TypedDict):
    """A new title or kind."""

    title: NotRequired[str]
    kind: NotRequired[Literal["note", "augment"]]


class DocumentListed(TypedDict):
    """A document without its text."""

    id: str
    grove: str
    title: str
    kind: str
    revision: int
    words: int
    summary: str
    made_at: str
    touched_at: str


class DocumentListedPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[DocumentListed]


class DocumentOne(TypedDict):
    """A document in its newest revision: all of it, or the part selected by `section`, `first`
    and `last`, whose lines these then are. `left_out` says what of a very long one is text
    only."""

    id: str
    grove: str
    title: str
    kind: str
    revision: int
    words: int
    summary: str
    made_at: str
    touched_at: str
    text: str
    first: int
    last: int
    sections: list[SectionOf]
    front_matter: dict[str, list[str]]
    embeds: list[str]
    links: list[LinkOf]
    tags: list[str]
    authors: list[str]
    left_out: list[str]


class DocumentSent(TypedDict):
    """A new document; without a grove, in the caller's first."""

    title: str
    kind: NotRequired[Literal["note", "augment"]]
    text: NotRequired[str]
    grove: NotRequired[str]


class Draft(TypedDict):
    """Unsaved text at a slot; `at` identifies its state, null if it was deleted."""

    slot: str
    kind: Literal["buffer", "edit", "note"]
    text: str
    at: str | None


class DraftPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Draft]


class DraftSent(TypedDict):
    """A draft. `seen`: the `at` of the draft as the sender last saw it, "" for none; if it has
    changed, CONFLICT. Without `seen`, the stored draft is replaced."""

    kind: Literal["buffer", "edit", "note"]
    text: str
    seen: NotRequired[str | None]


class EmbedderOf(TypedDict):
    """The embedder of a grove: `name` is that of its vectors ("": nothing is installed),
    `model` is "" for the embedded one; what an endpoint has read and cost; and how far the
    trees are indexed that the caller may see. `pause` says why the embedder is not asked at the
    moment."""

    name: str
    model: str
    base_url: str
    has_key: bool
    allow_private: bool
    price_usd: float
    tokens: int
    spent_usd: float
    is_stopped: bool
    indexed: int
    trees: int
    texts: int
    waiting: list[IndexedTree]
    pause: str


class EmbedderSent(TypedDict):
    """An endpoint that makes vectors: its model, its address, its key (none: the stored one),
    and the price of a million tokens."""

    model: str
    base_url: str
    api_key: NotRequired[str | None]
    allow_private: NotRequired[bool]
    price_usd: NotRequired[float]


class Estimate(TypedDict):
    """What continuing from a node would cost."""

    money: Money
    participants: list[ToRead]


class EstimateOf(TypedDict):
    """A value of `n` texts or places with its interval of 95 %; null where there is none."""

    n: int
    value: float | None
    low: float | None
    high: float | None


class Event(TypedDict):
    """One change; for a hidden one only `seq` and `kind` are given."""

    seq: int
    kind: str
    actor: NotRequired[str]
    origin: NotRequired[str]
    payload: NotRequired[dict[str, Any]]
    at: NotRequired[str]


class Events(TypedDict):
    """Events after the cursor; `head` is the last seq."""

    events: list[Event]
    head: int


class EvidenceGroup(TypedDict):
    """The evidence of one claim, about one item, or of one strength."""

    group: str
    count: int
    evidence: list[CiteIn]


class EvidenceGroups(TypedDict):
    """The newest evidence that was asked for, in groups: `accessible` pieces of `total`, which
    counts what the filter lets through, up to 10,000."""

    accessible: int
    total: int
    groups: list[EvidenceGroup]


class EvidenceRecord(TypedDict):
    """A piece of evidence with the fields that its file in an export has: `title` are the first
    words of the claim, `content` the exact words, or why it was given."""

    title: str
    claim: str
    side: str
    strength: str
    source: str
    time: str
    content: str
    proof_status: str
    related: str


class ExplorationOf(TypedDict):
    """An exploration: in each of `depth` rounds `agent` writes `n` texts below each text that
    is kept, and `keep` of them are kept. `round` counts the complete ones; `said` is why it
    ended early; `note` sums up what was kept. `begun_by` is the agent whose line began it for
    `asked_by`; null: they began it themselves."""

    id: str
    tree: str
    point: str
    asked_by: str
    begun_by: str | None
    agent: str
    judge: str | None
    n: int
    depth: int
    keep: int
    by: Literal["judge", "check", "taste", "variety"]
    goal: str
    length: int
    budget: BudgetOfExploration
    status: Literal["running", "done", "stopped", "failed"]
    phase: str
    round: int
    said: str
    note: str | None
    created_at: str
    ended_at: str | None


class ExplorationOfPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[ExplorationOf]


class ExportPreview(TypedDict):
    """What an export contains and leaves out. `warnings` are sentences about names that it has
    although `authors=0` asks for none."""

    format: str
    nodes: int
    characters: int
    left_out: list[LeftOut]
    warnings: list[str]


class ExposureLogged(TypedDict):
    """Whether it was logged: not if the person has switched that off."""

    logged: bool


class ExposureSent(TypedDict):
    """What was shown below a node, in its order; or which of them was opened."""

    point: str
    shown: NotRequired[list[str]]
    opened: NotRequired[str]
    where: NotRequired[Literal["tree", "grid"]]
    order: NotRequired[Literal["siblings", "nearness", "taste"]]


class Extension(TypedDict):
    """Additional steps and tokens that the agent asks for, and why; and the outside tool that
    it asks for, if it does."""

    steps: int
    tokens: NotRequired[int]
    why: str
    tool: NotRequired[WantedTool | None]


class ExtensionSent(TypedDict):
    """How many additional steps and tokens; at least one of them."""

    steps: NotRequired[int]
    tokens: NotRequired[int]


class FiguresOf(TypedDict):
    """How good the order is on `n` later choices that were not shown in it: how often it put
    the taken text first, how often it ranked it above another (`auc`), and what chance, the
    longest and the first shown text do there; `better` names those that it beats beyond luck."""

    n: int
    taste: RivalOf
    auc: float
    chance: float
    longest: RivalOf
    first: RivalOf
    better: list[Literal["chance", "longest", "first"]]


class Found(TypedDict):
    """One hit: a node, a tree with a matching title (node null), or a document (tree null).
    `near`: it has none of the words, but is near to them in meaning."""

    tree: str | None
    document: str | None
    title: str
    node: str | None
    kind: str
    author: str
    text: str
    score: float
    near: bool
    at: str


class FoundPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Found]


class GatewayKeyBody(TypedDict):
    """A gateway key; `hint` is its last characters, to recognise it by."""

    id: str
    name: str
    hint: str
    mode: Literal["observe", "workspace"]
    participant: str
    grove: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None


class GatewayKeyBodyPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[GatewayKeyBody]


class GatewayKeySent(TypedDict):
    """A new gateway key: its name, the model participant whose provider it calls, its mode, and
    the days until it expires (null: never)."""

    name: str
    participant: str
    mode: NotRequired[Literal["observe", "workspace"]]
    days: NotRequired[int | None]


class GatewaySessionBody(TypedDict):
    """A session of a program: what it calls itself, its tree, and its subagent's parent."""

    id: str
    name: str
    agent: str
    parent: str | None
    key: str
    tree: str
    workspace: str
    transcript: str | None
    grove: str
    program: str
    requests: int
    created_at: str
    seen_at: str


class GatewaySessionBodyPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[GatewaySessionBody]


class GenerationBody(TypedDict):
    """One candidate. `text` is the text so far, `chunk` the number of pieces; `node` is its
    node once it has ended with a text, `note` says what was cut from its path."""

    id: str
    tree: str
    participant: str
    point: str
    index: int
    batch: str
    status: Literal["queued", "running", "done", "stopped", "interrupted", "failed"]
    text: str
    chunk: int
    finish: str | None
    node: str | None
    call: str | None
    error: dict[str, Any] | None
    usage: dict[str, Any]
    note: str


class Gone(TypedDict):
    """Something was removed or ended."""

    ok: Literal[True]


class GraphBody(TypedDict):
    """What can be reached over links; `cut`: there is more."""

    nodes: list[GraphItem]
    links: list[GraphLink]
    cut: bool


class GraphItem(TypedDict):
    """A reached item: how lines name it (`erased` for one that is gone), its distance in links,
    its first words or title, whether the graph does not pass through it, and what became of it."""

    item: str
    depth: int
    words: str
    stop: bool
    state: Literal["", "pruned", "erased"]


class GraphLink(TypedDict):
    """A link between two of them, as it is stored; `level` of its confidence."""

    source: str
    target: str
    type: str
    confidence: float | None
    level: Literal["high", "medium", "low"] | None


class Grove(TypedDict):
    """A grove, and the caller's role in it."""

    id: str
    name: str
    settings: dict[str, Any]
    role: Literal["reader", "writer", "owner"]
    participant: str
    members: int
    seq: int
    created_at: str


class GroveChanged(TypedDict):
    """The changes to a grove; only the named `settings` change."""

    name: NotRequired[str]
    settings: NotRequired[dict[str, Any]]


class GrovePage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Grove]


class GroveSent(TypedDict):
    """A new grove."""

    name: str


class GroveSettings(TypedDict):
    """Settings of a grove to change; null: back to the default."""

    tag_colours: NotRequired[dict[str, Literal["ink", "blue", "teal", "rust", "green", "plum", "amber", "rose"]] | None]
    summary_model: NotRequired[str | None]
    summary_words: NotRequired[int | None]
    summary_tokens: NotRequired[int | None]
    tree_summary_tokens: NotRequired[int | None]
    tree_summary_every: NotRequired[int | None]
    continue_max: NotRequired[int | None]
    ask_depth: NotRequired[int | None]
    steps_a_day: NotRequired[int | None]
    quick_steps: NotRequired[int | None]
    quick_depth: NotRequired[int | None]
    quick_items: NotRequired[int | None]
    quick_rounds: NotRequired[int | None]
    quick_seconds: NotRequired[int | None]
    quick_tokens: NotRequired[int | None]
    standard_steps: NotRequired[int | None]
    standard_depth: NotRequired[int | None]
    standard_items: NotRequired[int | None]
    standard_rounds: NotRequired[int | None]
    standard_seconds: NotRequired[int | None]
    standard_tokens: NotRequired[int | None]
    thorough_steps: NotRequired[int | None]
    thorough_depth: NotRequired[int | None]
    thorough_items: NotRequired[int | None]
    thorough_rounds: NotRequired[int | None]
    thorough_seconds: NotRequired[int | None]
    thorough_tokens: NotRequired[int | None]
    readers_may: NotRequired[Literal["read", "comment"] | None]
    daily_budget_usd: NotRequired[float | None]
    trace_actions: NotRequired[int | None]
    windows_visible: NotRequired[int | None]
    windows_warn_lines: NotRequired[int | None]
    stashes: NotRequired[int | None]
    window_lines_max: NotRequired[int | None]
    evict: NotRequired[Literal["", "lru"] | None]
    auto_open: NotRequired[bool | None]
    portal_depth: NotRequired[int | None]
    result_threshold: NotRequired[int | None]
    truncation_kept: NotRequired[int | None]
    truncation_reserve: NotRequired[int | None]
    earlier_step: NotRequired[int | None]
    path_nodes: NotRequired[int | None]
    outline_lines: NotRequired[int | None]
    windows_share: NotRequired[int | None]
    active_seconds: NotRequired[int | None]


GroveUsage = TypedDict(
    "GroveUsage",
    {
        "from": "str",
        "to": "str",
        "limit_usd": "float",
        "total": "Sums",
        "shares": "list[Shared]",
        "days": "list[OfDay]",
        "trees": "list[OfTree]",
        "people": "list[OfPerson]",
    },
)


class ImageKept(TypedDict):
    """An image of a tree, and `text`: the reference to it in a text."""

    sha256: str
    media_type: str
    width: int
    height: int
    size: int
    text: str


class ImportAsks(TypedDict):
    """The choices before the import continues: which of `parts` trees, and if `split` is not
    empty, in which of these ways texts become nodes."""

    parts: int
    formats: dict[str, int]
    split: list[str]
    notes: list[str]


class ImportPartShown(TypedDict):
    """One tree of a file; `count` is the number of its messages, 0 if unknown."""

    number: int
    title: str
    at: str | None
    count: int
    status: Literal["listed", "chosen", "done", "failed"]
    tree: str | None
    error: ImportProblem | None


class ImportParts(TypedDict):
    """A page of the trees of a file."""

    count: int
    results: list[ImportPartShown]


class ImportProblem(TypedDict):
    """Why an import failed."""

    code: Literal["NOT_FOUND", "PERMISSION_DENIED", "INVALID_SYNTAX", "LIMIT_EXCEEDED", "CROSS_TREE", "CONFLICT", "MODEL_ERROR", "UNAUTHENTICATED", "LOOP", "REJECTED", "UNAVAILABLE", "INSUFFICIENT_QUANTITY", "INSUFFICIENT_QUALITY", "UNADDRESSED_COUNTEREVIDENCE", "NEEDS_ESCALATION", "DOWNGRADE"]
    message: str
    hint: str
    retryable: bool


class ImportReport(TypedDict):
    """The result of an import: what was kept, what the format does not define and is kept with
    the nodes, and what was dropped, each by name with its number."""

    format: str
    nodes: int
    trees: int
    says: ImportSays
    kept: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    warnings: list[str]


class ImportSays(TypedDict):
    """The report in sentences: what was imported, what is kept with it, what was left out and
    why."""

    came: list[str]
    beside: list[str]
    left_out: list[str]


class ImportState(TypedDict):
    """An import: `done` of `total` bytes of the file; its tree once it exists, if there is only
    one; and while it is `waiting`, what it `asks`."""

    id: str
    name: str
    status: Literal["queued", "running", "waiting", "done", "failed"]
    done: int
    total: int
    tree: str | None
    asks: ImportAsks | None
    report: ImportReport | None
    error: ImportProblem | None


class IndexedTree(TypedDict):
    """A tree that is not indexed up to its last change."""

    tree: str
    percent: int
    error: str


class IndexingChanged(TypedDict):
    """Whether vectors are made."""

    is_stopped: bool


class Invitation(TypedDict):
    """A link with which somebody can become a member."""

    id: str
    role: Literal["reader", "writer", "owner"]
    expires_at: str
    uses_left: int
    revoked_at: str | None


class InvitationPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Invitation]


class InvitationSent(TypedDict):
    """The role, the number of uses, and when it expires (or after how many days)."""

    role: Literal["reader", "writer", "owner"]
    uses: NotRequired[int]
    days: NotRequired[float]
    expires_at: NotRequired[str | None]


class Key(TypedDict):
    """An API key; `hint` is its last characters, to recognise it by."""

    id: str
    name: str
    hint: str
    scope: Literal["read", "write", "owner"]
    expires_at: str | None
    created_at: str
    last_used_at: str | None


class KeyPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Key]


class KeySent(TypedDict):
    """A new API key: its name, the most it may do (`read`: read only; `write`: as a writer;
    `owner`: everything that you may do), and the days until it expires (null: never)."""

    name: str
    scope: NotRequired[Literal["read", "write", "owner"]]
    days: NotRequired[int | None]


class LandscapeOf(TypedDict):
    """How far a map has come: `done` of 1; `revision` counts how often it was drawn (0: there
    is nothing to see yet), `placed` the texts that found their place since, `titled` how often
    a model gave titles; `said` why it failed."""

    status: Literal["none", "waiting", "running", "done", "stopped", "failed"]
    done: float
    revision: int
    placed: int
    titled: int
    said: str
    at: str | None


class LeftOut(TypedDict):
    """A kind of data that an export does not contain, with its number and a sentence."""

    what: str
    count: int
    says: str


class LineSent(TypedDict):
    """One command: as a `line`, or by name, as `command` and its `args`. `at`: a local id, what
    `here` means; `wait`: how many seconds the response may wait for the result; `key`: a repeat
    with the same key within HEDDLE_RECEIPT_DAYS does not run the command again; `act`: commands
    with the same one are undone and redone together, and `doing` says in the caller's words
    what they do. null counts as left out."""

    line: NotRequired[str | None]
    command: NotRequired[str | None]
    args: NotRequired[dict[str, Any] | None]
    dry_run: NotRequired[bool | None]
    key: NotRequired[str | None]
    at: NotRequired[str | None]
    wait: NotRequired[float | None]
    act: NotRequired[str | None]
    doing: NotRequired[str | None]


class Link(TypedDict):
    """A link as it is stored. `tree` is its source's; an end is a local id, or `tree:ID` or
    `tree:ID node:a7x2` of another tree, or `erased` if that is gone; `source_state` and
    `target_state` say what became of it."""

    id: str
    tree: str
    type: str
    source: str
    target: str
    source_state: Literal["", "pruned", "erased"]
    target_state: Literal["", "pruned", "erased"]
    note: str
    words: str
    confidence: float | None
    by: str
    at: str


class LinkNamed(TypedDict):
    """The id of an invitation or public link."""

    id: str


class LinkOf(TypedDict):
    """A link of the document: its type as read from this side, and the other end as a line
    names it."""

    id: str
    type: str
    to: str


class LinkPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Link]


class LinkType(TypedDict):
    """A link type; `reverse` is its name as read from the target, `archetypes` are those that
    see it."""

    name: str
    reverse: str
    symmetric: bool
    group: str
    colour: str
    archetypes: list[str]
    archived: bool


class LinkTypePage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[LinkType]


class MainLineOf(TypedDict):
    """The main line of a tree: the text that it leads to, how deep that is, and whether it was
    `marked` (the text that it is led through, by whom) or is the path written on last."""

    node: str
    depth: int
    how: Literal["marked", "written"]
    marked: str | None
    by: str | None


class ManuscriptOf(TypedDict):
    """The manuscript of a tree. `number` is that of its version, 0 before the first."""

    tree: str
    title: str
    author: str
    language: str
    target: int
    words: int
    number: int
    chapters: list[ChapterOf]


class Me(TypedDict):
    """The caller."""

    user: str
    name: str
    theme: str
    has_password: bool
    groves: list[Grove]


class Member(TypedDict):
    """A member's role in a grove, and their participant there."""

    user: str
    name: str
    role: Literal["reader", "writer", "owner"]
    participant: str
    archetype: str


class MemberNamed(TypedDict):
    """A user by name."""

    user: str


class MemberPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Member]


class MemberPart(TypedDict):
    """A user by name, and what changes: the role, or the archetype that decides which link
    types they are shown."""

    user: str
    role: NotRequired[Literal["reader", "writer", "owner"]]
    archetype: NotRequired[Literal["reader", "writer", "editor", "auditor"]]


class MemberRight(TypedDict):
    """What a member may do in a tree: `right` is what counts, `given` what the tree says of
    them by name."""

    user: str
    name: str
    participant: str
    role: str
    given: str
    right: str


class MemberSent(TypedDict):
    """A user by name, and a role."""

    user: str
    role: Literal["reader", "writer", "owner"]


class ModelOf(TypedDict):
    """What a model was asked for: texts and places; for each text `length` in characters,
    `cost` in dollars and `speed` in characters a second; `variety`, the share of different
    answers among those of one place; `taken`, the share that somebody went on from; `failed`,
    the share that failed or broke off."""

    participant: str
    name: str
    asked: int
    places: int
    length: EstimateOf
    variety: EstimateOf
    cost: EstimateOf
    speed: EstimateOf
    taken: EstimateOf
    failed: EstimateOf


class ModelsOfTree(TypedDict):
    """The models of a tree, and who contributed when."""

    models: list[ModelOf]
    contributions: list[ContributionOf]


class Money(TypedDict):
    """A member's money for today (UTC); `left_usd` null if there is no limit."""

    limit_usd: float
    spent_usd: float
    reserved_usd: float
    left_usd: float | None


class NewGatewayKey(TypedDict):
    """A gateway key with its secret, which is shown only once."""

    id: str
    name: str
    hint: str
    mode: Literal["observe", "workspace"]
    participant: str
    grove: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None
    key: str


class NewInvitation(TypedDict):
    """An invitation with its link, which is shown only once."""

    id: str
    role: Literal["reader", "writer", "owner"]
    expires_at: str
    uses_left: int
    revoked_at: str | None
    link: str


class NewKey(TypedDict):
    """An API key with the key itself, which is shown only once."""

    id: str
    name: str
    hint: str
    scope: Literal["read", "write", "owner"]
    expires_at: str | None
    created_at: str
    last_used_at: str | None
    key: str


class NewPublicLink(TypedDict):
    """A public link with the link itself, which is shown only once."""

    id: str
    made_by: str
    created_at: str
    expires_at: str
    revoked_at: str | None
    link: str


class NewWebhook(TypedDict):
    """A webhook with its secret, which is shown only once."""

    id: str
    grove: str
    tree: str | None
    url: str
    kinds: list[str]
    cursor: int
    tries: int
    error: str
    next_try_at: str | None
    stopped_at: str | None
    delivered_at: str | None
    created_at: str
    secret: str


class NextToken(TypedDict):
    """A token that could come next; `goes_on` is false for the end of a text and for a part of
    a character, after which nothing can be asked."""

    text: str
    probability: float
    goes_on: bool


class NextTokensOf(TypedDict):
    """What could come next, the likeliest first; the tokens that were read, and the cost in
    dollars (null: not known)."""

    agent: str
    tokens: list[NextToken]
    read: int
    usd: float | None


class NextTokensSent(TypedDict):
    """Which model is asked (none: the first one that gives probabilities), and how its answer
    begins."""

    agent: NotRequired[str]
    begun: NotRequired[str]


class Node(TypedDict):
    """One version of one slot, in full."""

    id: str
    tree: str
    kind: Literal["text", "annotation", "thought", "claim"]
    form: str
    text: str
    content: list[dict[str, Any]]
    author: Author
    parent: str | None
    slot: str
    depth: int
    versions: list[str]
    edited_from: str | None
    sources: list[Source]
    created_at: str
    pruned: bool
    excluded: bool
    hidden: bool
    sandbox: bool
    resolved: bool
    finish: str
    generation: str | None
    call: str | None
    summary: str
    counts: Counts
    bookmarks: list[Bookmark]
    tags: list[str]
    hash: str
    proof: Proof


class NodeLine(TypedDict):
    """A node without its text; `length` in code points."""

    id: str
    kind: str
    parent: str | None
    slot: str
    author: str
    pruned: bool
    excluded: bool
    length: int


class NodePage(TypedDict):
    """Some nodes in order of creation; `next` is the next `after`, null at the end."""

    count: int
    results: list[NodeLine]
    next: int | None


class NodeStampOf(TypedDict):
    """The time stamp that speaks for a text. `waiting`: there is none yet, `broken`: it is none
    of the hash (`reason` says why), `none`: it will get none. `through` is the version whose
    hash was stamped, which is this one or was built upon it; `at` is the time in the stamp,
    `authority` the host that signed it."""

    node: str
    status: Literal["stamped", "broken", "waiting", "none"]
    reason: str
    through: str | None
    hash: str | None
    at: str | None
    authority: str | None


class Notification(TypedDict):
    """Something that somebody else wrote in the tree since the participant last saw it, as a
    line."""

    text: str


class ObligationOf(TypedDict):
    """One thing that a level demands: `code` is the refusal that it would be, `have` and `need`
    are numbers, `status` is pending, compiling, proved, blocked or rejected."""

    code: str
    have: int
    need: int
    says: str
    status: str


class Obligations(TypedDict):
    """What a level demands of a claim, in the order in which it is checked."""

    level: str
    obligations: list[ObligationOf]


class OfDay(TypedDict):
    """The sums of a day."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None
    day: str


class OfParticipant(TypedDict):
    """The sums of a model, or of the member who asked."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None
    participant: str
    name: str


class OfPerson(TypedDict):
    """What a member spent, erased trees included, and has left today."""

    participant: str
    name: str
    usd: float
    today: Money


class OfTree(TypedDict):
    """The sums of a tree."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None
    tree: str
    title: str


class OpeningOf(TypedDict):
    """An item that the claimant has opened from what the claim rests on: weak evidence that
    nobody gave, which counts for the level tentative only."""

    item: str
    of: str
    type: str
    says: str
    strength: str
    counts_for: str
    by: str
    at: str


class Outline(TypedDict):
    """How an outline is folded: to a depth, except for what was expanded or collapsed; `hits`
    of the last `query` and those `found` earlier are local ids, too."""

    depth: int
    expanded: list[str]
    collapsed: list[str]
    found: list[str]
    query: str
    hits: list[str]
    scores: dict[str, float]


class Overview(TypedDict):
    """The largest branches of a tree in columns of the same length, parents first: `parents`
    are places in them (-1: the root), `sizes` the texts of each branch, `rows` how many texts
    one below the other a place stands for. The texts up to the ordinal `last` are counted."""

    last: int
    ids: list[str]
    parents: list[int]
    authors: list[int]
    participants: list[Author]
    sizes: list[int]
    rows: list[int]


class OwnRatings(TypedDict):
    """The caller's ratings in a tree, by local id."""

    ratings: dict[str, Literal["plus", "minus"]]


class Participant(TypedDict):
    """A person or model that writes. `user` for people, `model_ref` for models."""

    id: str
    grove: str
    kind: Literal["human", "model"]
    user: str | None
    name: str
    model_ref: str
    base_url: str
    allow_private: bool
    auth: Literal["bearer", "basic", "none"]
    endpoint: Literal["chat", "completion"]
    capabilities: list[str]
    persona: str
    temperature: float | None
    max_tokens: int | None
    stop: list[str]
    context_limit: int
    archetype: Literal["reader", "writer", "editor", "auditor"]
    authority: int
    budget: Literal["quick", "standard", "thorough"]
    tool_filter: list[str]
    provider_tools: list[dict[str, Any]]
    parallel: int
    prices: dict[str, float]
    loom_aware: bool
    permissions: list[str]
    has_key: bool
    probe: dict[str, Any]
    created_at: str
    archived_at: str | None


class ParticipantChanged(TypedDict):
    """Changes to a model participant, named as in docs/model.md; `api_key` is never shown
    again, and an empty one removes the stored key."""

    name: NotRequired[str]
    model_ref: NotRequired[str]
    base_url: NotRequired[str]
    allow_private: NotRequired[bool]
    auth: NotRequired[Literal["bearer", "basic", "none"]]
    endpoint: NotRequired[Literal["chat", "completion"]]
    capabilities: NotRequired[list[str]]
    persona: NotRequired[str]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    stop: NotRequired[list[str]]
    context_limit: NotRequired[int]
    archetype: NotRequired[Literal["reader", "writer", "editor", "auditor"]]
    authority: NotRequired[int]
    budget: NotRequired[Literal["quick", "standard", "thorough"]]
    tool_filter: NotRequired[list[str]]
    provider_tools: NotRequired[list[dict[str, Any]]]
    parallel: NotRequired[int]
    prices: NotRequired[dict[str, float]]
    permissions: NotRequired[list[Literal["loom_aware", "loom_write", "loom_generate", "doc_read", "doc_write", "cross_tree", "web_search"]]]
    loom_aware: NotRequired[bool]
    archived: NotRequired[bool]
    api_key: NotRequired[str | None]


class ParticipantPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Participant]


class ParticipantSent(TypedDict):
    """A new model participant; without `grove`, in the caller's first. `template`: the name of
    a template, or a model of the grove whose model, address and key it takes; then `model_ref`
    is optional."""

    name: str
    model_ref: NotRequired[str]
    base_url: NotRequired[str]
    allow_private: NotRequired[bool]
    auth: NotRequired[Literal["bearer", "basic", "none"]]
    endpoint: NotRequired[Literal["chat", "completion"]]
    capabilities: NotRequired[list[str]]
    persona: NotRequired[str]
    temperature: NotRequired[float | None]
    max_tokens: NotRequired[int | None]
    stop: NotRequired[list[str]]
    context_limit: NotRequired[int]
    archetype: NotRequired[Literal["reader", "writer", "editor", "auditor"]]
    authority: NotRequired[int]
    budget: NotRequired[Literal["quick", "standard", "thorough"]]
    tool_filter: NotRequired[list[str]]
    provider_tools: NotRequired[list[dict[str, Any]]]
    parallel: NotRequired[int]
    prices: NotRequired[dict[str, float]]
    permissions: NotRequired[list[Literal["loom_aware", "loom_write", "loom_generate", "doc_read", "doc_write", "cross_tree", "web_search"]]]
    loom_aware: NotRequired[bool]
    archived: NotRequired[bool]
    api_key: NotRequired[str | None]
    grove: NotRequired[str]
    kind: NotRequired[Literal["model"]]
    template: NotRequired[str]


class PartsChosen(TypedDict):
    """The trees to import, by number or all that `q` finds, and how texts are split."""

    parts: NotRequired[list[int] | None]
    q: NotRequired[str]
    split: NotRequired[Literal["", "sections", "paragraphs", "whole"]]


class PasswordSent(TypedDict):
    """The old password (empty if there is none yet) and the new one."""

    old: NotRequired[str]
    new: str


class Path(TypedDict):
    """A path, root first; `versions` names the selected version of each slot."""

    nodes: list[Node]
    versions: dict[str, str]


class PersonOnMap(TypedDict):
    """Somebody who wrote texts of a map; `model` names the model of an agent."""

    id: str
    name: str
    kind: Literal["human", "model"]
    model: str


class PieceOf(TypedDict):
    """A piece of two texts: in both (same), or only in the earlier (old) or later (new) one."""

    kind: Literal["same", "old", "new"]
    text: str


class PinnedSettings(TypedDict):
    """Settings, and the slot where they are pinned."""

    node: str
    settings: dict[str, Any]


class PipeOf(TypedDict):
    """A saved pipe: its lines as they were given, what they take and give (`kinds`), and
    whether models may run it, as those that a person saved."""

    id: str
    grove: str
    name: str
    lines: list[str]
    kinds: str
    by: str
    for_models: bool
    at: str


class PipeOfPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[PipeOf]


class PipeSent(TypedDict):
    """A new pipe; without a grove, in the caller's first. Its lines are joined by `|` or stand
    one below the other."""

    name: str
    lines: str
    grove: NotRequired[str]


class Place(TypedDict):
    """The caller's workspace in a tree, and their position."""

    id: str
    position: str


class PointsOf(TypedDict):
    """The texts of a map in columns, as the caller may see them: each column has a value for
    each text, in the order of `ids`, which are local ids. `x` and `y` are from 1 to 65,535, y
    downwards; texts near each other are alike. `tree`, `authors` and `branch` are places in
    `trees`, `participants` and `branches` (-1: none of them; `tree` is empty on the map of one
    tree), `ups` the place of the nearest text above (-1: none), `times` seconds since 1970.
    `ratings` are [place, 1 or -1], the caller's own; `surprise` [place, mean bits of a token]
    where a provider gave probabilities. `lit` are the places that a branch or search leaves;
    null: all."""

    revision: int
    placed: int
    titled: int
    trees: list[TreeOnMap]
    participants: list[PersonOnMap]
    branches: list[BranchOnMap]
    ids: list[str]
    x: list[int]
    y: list[int]
    tree: list[int]
    ups: list[int]
    authors: list[int]
    times: list[int]
    branch: list[int]
    ratings: list[list[Any]]
    surprise: list[list[Any]]
    lit: list[int] | None
    regions: list[RegionOnMap]


class PriceBody(TypedDict):
    """Tokens of the whole request, and USD: to send it, to send it if its beginning is in the
    provider's cache, and for the longest answer; null if no price is known."""

    tokens: int
    how: Literal["counted", "estimated"]
    usd: float | None
    cached_usd: float | None
    answer_usd: float | None


class Problem(TypedDict):
    """Every error; `lacks` names the permissions that are missing. A refused line adds `reply`,
    `step`, and `canonical` if it could be parsed."""

    ok: Literal[False]
    code: Literal["NOT_FOUND", "PERMISSION_DENIED", "INVALID_SYNTAX", "LIMIT_EXCEEDED", "CROSS_TREE", "CONFLICT", "MODEL_ERROR", "UNAUTHENTICATED", "LOOP", "REJECTED", "UNAVAILABLE", "INSUFFICIENT_QUANTITY", "INSUFFICIENT_QUALITY", "UNADDRESSED_COUNTEREVIDENCE", "NEEDS_ESCALATION", "DOWNGRADE"]
    message: str
    hint: str
    retryable: bool
    lacks: NotRequired[list[str]]
    reply: NotRequired[str]
    step: NotRequired[int | None]
    canonical: NotRequired[str]


class Proof(TypedDict):
    """The values that the hash covers: SHA-256 of their JSON with sorted keys, without blanks."""

    author: str
    call: str | None
    configuration: str | None
    content: list[dict[str, Any]]
    created_at: str
    edited_from: str | None
    kind: str
    parent: str | None


class Provenance(TypedDict):
    """Where a node came from. `above` goes from the root downwards, without the `left_out`
    furthest ones; `call` is as in GET /api/calls/{id}; `verify.said` are sentences."""

    node: str
    hash: str
    proof: dict[str, Any]
    finish: str
    above: list[Above]
    left_out: int
    generation: str | None
    note: str
    ended_at: str | None
    call: dict[str, Any] | None
    verify: dict[str, Any]


class PublicLink(TypedDict):
    """A link with which anybody may read one tree."""

    id: str
    made_by: str
    created_at: str
    expires_at: str
    revoked_at: str | None


class PublicLinkPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[PublicLink]


class PublicLinkSent(TypedDict):
    """For how many days anybody with the link may read the tree."""

    days: NotRequired[float]


class PutAsideList(TypedDict):
    """What is put aside in a grove."""

    count: int
    results: list[PutAsideOf]


class PutAsideOf(TypedDict):
    """A unit of work that failed again and again, or did not come to an end, and is left alone:
    its kind and id, the reason and time of the last of its tries."""

    kind: Literal["document", "generation"]
    id: str
    reason: str
    tries: int
    at: str


class QuoteOf(TypedDict):
    """The words of a cite, with a little before and after; `first` and `last` in code points."""

    words: str
    before: str
    after: str
    first: int
    last: int


class RegionOnMap(TypedDict):
    """A region of a map: `level` 0 is seen from afar, 2 from near; where its middle is; how
    many texts it has; the place of the region around it (-1: none); words that name it, and its
    title by a model ("": none)."""

    level: int
    x: int
    y: int
    count: int
    within: int
    words: list[str]
    title: str


class RequestBody(TypedDict):
    """A request's body, without keys; null if it is no longer kept whole."""

    request: str
    at: str
    body: dict[str, Any] | None


class RestoreSent(TypedDict):
    """The revision to restore."""

    revision: int


class ResultBody(TypedDict):
    """A result of a tool in the last request of a session, by the program's own id: the number
    of its message (from 1) and its size. To hide it `saves` tokens (about) of each later
    request, and its provider reads `rereads` tokens again, for `usd`; `why_not` says what hangs
    on it."""

    tool_use_id: str
    tool: str
    message: int
    length: int
    tokens: int
    is_error: bool
    state: Literal["visible", "hidden"]
    saves: int
    rereads: int
    usd: float | None
    why_not: str


class ResultOf(TypedDict):
    """What a check said about an item; `outcome` is passed, failed, unsure, or asked while a
    judge reads."""

    item: str
    check: str
    name: str
    outcome: Literal["passed", "failed", "unsure", "asked"]
    said: str
    version: str
    call: str | None
    at: str


class ResultSent(TypedDict):
    """Whether a result is sent. `anyway` gives a marked cache up; `dry_run` changes nothing."""

    tool_use_id: str
    visible: bool
    anyway: NotRequired[bool]
    dry_run: NotRequired[bool]


class Results(TypedDict):
    """What checks said about the items that were asked for; `seq` is the last event of the
    grove before, after which changes to a document follow (0 for nodes)."""

    count: int
    results: list[ResultOf]
    seq: int


class RetrySent(TypedDict):
    """What to take up again."""

    kind: Literal["document", "generation"]
    id: str


class RevisionOf(TypedDict):
    """A revision without its text. `restored` is the number of the revision whose text it
    restored; `step` is null for what people typed, and for steps of trees that the reader does
    not see."""

    number: int
    words: int
    length: int
    sha256: str
    by: str
    authors: list[str]
    restored: int | None
    step: StepOfRevision | None
    at: str


class RevisionOfPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[RevisionOf]


class RevisionOne(TypedDict):
    """A revision with its text."""

    number: int
    words: int
    length: int
    sha256: str
    by: str
    authors: list[str]
    restored: int | None
    step: StepOfRevision | None
    at: str
    text: str


class RightSent(TypedDict):
    """A member by user name, or all `readers` or `writers`, and what they may do in the tree;
    `usual` is what their role allows."""

    who: str
    right: Literal["hidden", "read", "comment", "write", "usual"]


class Rights(TypedDict):
    """Who may do what in a tree."""

    roles: list[RoleRight]
    members: list[MemberRight]


class RivalOf(TypedDict):
    """How often something put the taken text first, with its interval of 95 %."""

    share: float
    low: float
    high: float


class RoleRight(TypedDict):
    """What readers or writers may do in a tree: `right` is what counts, `given` what the tree
    says."""

    role: str
    given: str
    right: str


class SavedNamed(TypedDict):
    """A saved item, by its id."""

    id: str


class SavedOne(TypedDict):
    """Something saved under a name; `shared`: for the whole grove."""

    id: str
    kind: Literal["search", "preset", "windows"]
    name: str
    body: dict[str, Any]
    shared: bool
    at: str


class SavedOnePage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[SavedOne]


class SavedRenamed(TypedDict):
    """A saved item, by its id, and its new name."""

    id: str
    name: str


class SavedSent(TypedDict):
    """Something to save under a name: a search (`q`, `type`, `tag`, …), a preset (`top_p`,
    `stop`, …), or an arrangement of windows (`lines` that open them); a `shared` preset is for
    everybody in the grove."""

    kind: Literal["search", "preset", "windows"]
    name: str
    body: dict[str, Any]
    shared: NotRequired[bool]


class ScoreOf(TypedDict):
    """Which model scored the text, how many tokens it has, their mean surprise in bits, and the
    cost in dollars (null: not known)."""

    agent: str
    tokens: int
    bits: float
    usd: float | None


class ScoreSent(TypedDict):
    """Which model is asked; none: the first one that gives probabilities."""

    agent: NotRequired[str]


class SearchServiceBody(TypedDict):
    """The service with which a grove searches the web, without its key; `kind` is null if there
    is none. `services` are the available kinds."""

    kind: str | None
    base_url: str
    has_key: bool
    allow_private: bool
    price_usd: float
    services: list[str]


class SearchServiceSent(TypedDict):
    """The service with which a grove searches the web. `base_url`: empty for the default of the
    kind; `api_key`: null keeps the stored one for this address; `price_usd`: of one search."""

    kind: Literal["searxng", "brave", "tavily"]
    base_url: NotRequired[str]
    api_key: NotRequired[str | None]
    allow_private: NotRequired[bool]
    price_usd: NotRequired[float]


class SectionBody(TypedDict):
    """A part of a request: its exact text and its approximate number of tokens. `detail` says
    what it contains, `count` how many nodes, rounds or paragraphs that names; `note` why it is
    there, or what was shortened or left out and why; `nodes` are the ids of those whose texts
    it contains."""

    name: str
    tokens: int
    text: str
    detail: str
    note: str
    nodes: NotRequired[list[str]]
    count: NotRequired[int | None]


class SectionOf(TypedDict):
    """A heading with its stable id; `first` and `last` are lines, from 1."""

    id: str
    title: str
    level: int
    first: int
    last: int


class Session(TypedDict):
    """A signed-in browser; `here` marks the one that sent the request."""

    id: str
    agent: str
    created_at: str
    seen_at: str
    here: bool


class SessionPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Session]


class SessionSent(TypedDict):
    """The tree whose workspace a session is sent, null for its own; and what it is told was
    said before, null for what was said. What is left out stays."""

    workspace: NotRequired[str | None]
    transcript: NotRequired[str | None]


class SessionState(TypedDict):
    """The last requests of a session, newest first, and the results of tools in the last one.
    `not_recorded` says why its requests pass without being recorded, as those of a session
    whose tree is archived do."""

    requests: list[dict[str, Any]]
    results: list[ResultBody]
    not_recorded: str | None


class Settings(TypedDict):
    """One person's settings. `language` "": the browser's; `temperature` null: the model's own;
    `keys`: those that differ from the defaults, by action; `languages`: the codes that can be
    chosen."""

    name: str
    theme: Literal["system", "light", "dark"]
    language: str
    prose: Literal["serif", "sans", "mono"]
    size: Literal["small", "medium", "large", "larger"]
    width: Literal["narrow", "medium", "wide"]
    leading: Literal["tight", "medium", "loose"]
    align: Literal["start", "justified"]
    nodes: Literal["full", "quiet", "plain"]
    paste: Literal["plain", "markdown"]
    styled: bool
    temperature: float | None
    edits: Literal["ask", "version", "fork"]
    verbose: bool
    keys: dict[str, str]
    languages: list[str]


class SettingsBody(TypedDict):
    """All settings of a grove with their values, and their JSON schema."""

    values: dict[str, Any]
    schema: dict[str, Any]


class SettingsChanged(TypedDict):
    """Changes to the caller's own settings; values as in `GET settings`."""

    name: NotRequired[str]
    theme: NotRequired[Literal["system", "light", "dark"]]
    language: NotRequired[Literal["", "en", "de", "es"]]
    prose: NotRequired[Literal["serif", "sans", "mono"]]
    size: NotRequired[Literal["small", "medium", "large", "larger"]]
    width: NotRequired[Literal["narrow", "medium", "wide"]]
    leading: NotRequired[Literal["tight", "medium", "loose"]]
    align: NotRequired[Literal["start", "justified"]]
    nodes: NotRequired[Literal["full", "quiet", "plain"]]
    paste: NotRequired[Literal["plain", "markdown"]]
    styled: NotRequired[bool]
    temperature: NotRequired[float | None]
    edits: NotRequired[Literal["ask", "version", "fork"]]
    verbose: NotRequired[bool]
    keys: NotRequired[dict[str, str]]


class SettingsHere(TypedDict):
    """The `settings` that apply at a node, and the pins that they come from, topmost first."""

    settings: dict[str, Any]
    pins: list[PinnedSettings]


class SettingsPinned(TypedDict):
    """Settings that apply at a node and below it; {} removes them."""

    node: str
    settings: dict[str, Any]


class Shared(TypedDict):
    """What a member asked of a model; without one `participant` is empty and `purpose` says
    what for."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None
    person: str
    person_name: str
    participant: str
    participant_name: str
    purpose: Literal["", "search", "vectors"]


class Skeleton(TypedDict):
    """A whole tree in columns of the same length, in order of creation."""

    seq: int
    ids: list[str]
    parents: list[int | None]
    slots: list[int]
    kinds: list[str]
    authors: list[int]
    participants: list[Author]
    flags: list[int]
    lengths: list[int]
    orders: list[list[Any]]
    rests: list[list[Any]]


class SkeletonTile(TypedDict):
    """Some nodes of a tree: columns whose values are joined by commas, and [ordinal, value]
    where something is said of a node. `ordinals` only where some are missing after `first`."""

    first: int
    ids: str
    ups: str
    authors: str
    lengths: str
    participants: list[Author]
    slots: list[list[Any]]
    kinds: list[list[Any]]
    places: list[list[Any]]
    wholes: list[list[Any]]
    ordinals: NotRequired[list[int] | None]


class Source(TypedDict):
    """A source of a node in addition to its parent: a local id, `tree:ID`, or `tree:ID
    node:x9y3`."""

    item: str
    role: Literal["primary", "context", "instruction", "parts"]


class StateEvidence(TypedDict):
    """What the state of a task is evidence for, as a claim may say it: `task "…" is checked`."""

    says: str
    strength: str


class Status(TypedDict):
    """`checkpoint` is the last step seen; `tokens` of what the view adds to a request, in total
    and by section; the running `turn`, with its `budget` as STATUS shows it."""

    checkpoint: int
    steps: int
    turn: str | None
    budget: str
    tokens: int
    sections: dict[str, int]


class StepBody(TypedDict):
    """An attempt by somebody, and its outcome: `ok` or the code of its refusal. `message` is
    the reply; `place` is that of the line in its turn: `2.1` is the first of the second round;
    `loop_status` says whether it repeats earlier lines. Unless `open`, its texts are left out,
    because the reader may not see what it touched; `message` says so."""

    seq: int
    workspace: str
    actor: str
    on_behalf_of: str | None
    turn: str | None
    place: str | None
    line: str
    canonical: str
    because: str
    items: list[str]
    link_type: str
    outcome: str
    loop_status: Literal["ok", "exact", "structural", "semantic"]
    message: str
    hint: str
    stream: str
    events: list[int]
    undone: bool
    open: bool
    at: str


class StepOfRevision(TypedDict):
    """The step that wrote a revision: `seq` counts those of its workspace (of the grove, for
    what no line wrote: `workspace` and `tree` are then null). `window`: the number of the
    window through which it was written, which showed the lines `first` to `last` before."""

    id: str
    seq: int
    workspace: str | None
    tree: str | None
    window: int | None
    first: int | None
    last: int | None


StepOfTrail = TypedDict(
    "StepOfTrail",
    {
        "type": "str",
        "from": "list[str]",
        "to": "list[TrailEnd]",
        "because": "str",
        "note": "str",
        "at": "str",
    },
)


class StepPage(TypedDict):
    """Steps in order; `next` is the next `after`, null at the end."""

    count: int
    results: list[StepBody]
    next: int | None


class SummariesBody(TypedDict):
    """`model` makes summaries (null: none, so the first words are used); `open` are being made;
    failed ones are retried a few times where they are needed. `summary` is that of the node in
    `?node=`, else of the tree."""

    model: str | None
    open: int
    summary: str
    failed: list[SummaryFailed]


class SummariesSent(TypedDict):
    """The summaries to make: of nodes by their ids, and with `tree` a new one of the tree.
    `again`: also where there is one, or one has failed."""

    nodes: NotRequired[list[str]]
    tree: NotRequired[bool]
    again: NotRequired[bool]


class SummaryFailed(TypedDict):
    """A failed summary: of which node (null: the tree), when, and why."""

    node: str | None
    error: dict[str, Any]
    at: str


class SummaryOf(TypedDict):
    """The summary of a document (of its revision `revision`), and whether one is being made;
    `failed` are the attempts that have failed since."""

    summary: str
    revision: int
    open: int
    failed: list[dict[str, Any]]


class Sums(TypedDict):
    """Tokens of ended candidates, and of what programs were answered at the gateway, as counted
    by providers; `usd` null if no price was known."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None


class TableBody(TypedDict):
    """A table of a tree and its columns."""

    name: str
    says: str
    columns: list[TableColumn]


class TableColumn(TypedDict):
    """A column: its name, and the type of its values; `time` is RFC 3339 in JSON."""

    name: str
    type: Literal["text", "integer", "real", "truth", "time", "json"]


class TablesOfTree(TypedDict):
    """The tables that a tree can be read as; `seq` is the newest event that they hold."""

    seq: int
    results: list[TableBody]


class TagChanged(TypedDict):
    """A tag, and its new name or colour (empty: no colour); fields that are left out stay."""

    tag: str
    name: NotRequired[str]
    colour: NotRequired[str | None]


class TagNamed(TypedDict):
    """A tag by name."""

    tag: str


class TagOf(TypedDict):
    """A tag of a grove; `colour` is empty if it has none."""

    name: str
    colour: str
    items: int


class TagOfPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[TagOf]


class Taken(TypedDict):
    """A file was accepted and waits to be read."""

    id: str


class Task(TypedDict):
    """A task; `ref` is its name in lines; `place` is its order among those not archived."""

    number: int
    ref: str
    state: Literal["unchecked", "checked", "archived"]
    place: int
    removed: bool
    text: str
    notes: list[str]
    made_at: str


class TaskPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Task]


class TaughtBody(TypedDict):
    """What a participant is taught: the permissions that apply when the caller asks it, and its
    INSTRUCTIONS; "" for one that is sent text only."""

    permissions: list[str]
    instructions: str


class TemplateBody(TypedDict):
    """A template for a new model: the `fields` and `permissions` that it sets."""

    name: str
    says: str
    permissions: list[str]
    fields: dict[str, Any]


class TemplatesBody(TypedDict):
    """All templates."""

    count: int
    results: list[TemplateBody]


class TextOfExploration(TypedDict):
    """A text that it asked for: `node` is null while it is written or if it failed; `score`
    from 0 to 10 with the reason; `kept` is null until the round is decided."""

    round: int
    point: str
    generation: str
    node: str | None
    score: float | None
    reason: str
    kept: bool | None


class TitlesOf(TypedDict):
    """What titles of the regions cost: the model that gives them (None: there is none, or the
    caller may not ask), how many regions, about how many tokens it reads, US dollars at most
    (None: not known); whether they are being made, and why the last ones were not made."""

    agent: str | None
    regions: int
    tokens: int
    usd: float | None
    going: bool
    said: str


class ToRead(TypedDict):
    """What one candidate of a model reads, and what that costs: `tokens` of the `whole` path
    and persona, at most `limit`; `prices` in USD per million tokens, null if unknown; `length`
    is reserved for the answer."""

    participant: str
    name: str
    tokens: int
    whole: int
    limit: int
    how: Literal["counted", "estimated"]
    length: int
    prices: dict[str, float] | None
    caches_from: int | None


class TokenDelta(TypedDict):
    """What an input changes of a task: its place, its state and its notes afterwards. The state
    is strong `evidence`, for the state only."""

    first: int
    last: int
    state: str
    notes: list[str]
    evidence: StateEvidence


class TokenKind(TypedDict):
    """A kind of token with its machine. `transitions` are [state, input, state after]."""

    kind: str
    alias: str
    written: str
    states: list[str]
    initial: str
    accepting: list[str]
    transitions: list[list[str]]
    compiles_to: str
    obligations: str


class TokenKinds(TypedDict):
    """The kinds of tokens."""

    count: int
    results: list[TokenKind]


class TokenObligation(TypedDict):
    """Something that has to hold before an input is run."""

    says: str
    met: bool


class TokenOf(TypedDict):
    """A token of an item: its place in code points, its words, its state, and what may be done
    now (`inputs`)."""

    key: str
    kind: str
    text: str
    first: int
    last: int
    target: str
    check: str
    state: str
    notes: list[str]
    states: list[str]
    initial: str
    accepting: list[str]
    inputs: list[str]


class TokenRun(TypedDict):
    """What an input compiled to, the obligations, the reply, the token afterwards, and of a
    task what changes. `dropped`: lines that are not run, as each undoes another of them."""

    token: TokenOf
    lines: list[str]
    dropped: list[str]
    obligations: list[TokenObligation]
    reply: str
    delta: TokenDelta | None


class TokenSent(TypedDict):
    """An input of a token, with the text that a note, reply or reason has. `dry_run` only
    compiles it. `then`: of a task, further inputs after it."""

    input: str
    text: NotRequired[str]
    then: NotRequired[list[str]]
    dry_run: NotRequired[bool]


class Tokens(TypedDict):
    """The tokens of an item, in order."""

    count: int
    results: list[TokenOf]


class ToolBody(TypedDict):
    """A tool as its server describes it; `arguments` is its schema in brief, `gone` says that
    the server lists it no more, `agents` are the ids of those that may use it."""

    id: str
    name: str
    description: str
    schema: dict[str, Any]
    arguments: str
    on: bool
    gone: bool
    agents: list[str]


class ToolChanged(TypedDict):
    """Changes to a tool: whether anybody may use it, and the ids of all agents that may."""

    on: NotRequired[bool]
    agents: NotRequired[list[str]]


class ToolDecided(TypedDict):
    """The name of the tool that a turn asks for, and whether its agent may use it."""

    tool: str
    allow: bool


class ToolServerBody(TypedDict):
    """A server with its tools, without its key. `listed_at` is null while it is asked for them,
    `error` why it did not answer."""

    id: str
    grove: str
    name: str
    url: str
    has_key: bool
    allow_private: bool
    error: str
    listed_at: str | None
    tools: list[ToolBody]


class ToolServerBodyPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[ToolServerBody]


class ToolServerKey(TypedDict):
    """Another key of a server; empty: none."""

    api_key: str


class ToolServerSent(TypedDict):
    """A new server: what lines call it, its address, its key (null or empty: none), and whether
    an address on the network of this installation is allowed."""

    name: str
    url: str
    api_key: NotRequired[str | None]
    allow_private: NotRequired[bool]


class TrailEnd(TypedDict):
    """An item that a step of a trail led to. `item` is "" where it is erased or unavailable;
    `state` says what became of it."""

    item: str
    state: str
    words: str


class TrailSent(TypedDict):
    """The tree in which the steps were taken, and the name of the trail."""

    tree: str
    name: str


class TrailSteps(TypedDict):
    """The steps that led somewhere, in order."""

    steps: list[StepOfTrail]


class TrailSummary(TypedDict):
    """A way that somebody took, kept under a name."""

    id: str
    name: str
    tree: str
    owner: str
    shared: bool
    forked_from: str | None
    step_count: int
    types: list[str]
    at: str


class TrailSummaryPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[TrailSummary]


class TrailWithSteps(TypedDict):
    """A trail with its steps, as far as the caller may see them."""

    id: str
    name: str
    tree: str
    owner: str
    shared: bool
    forked_from: str | None
    step_count: int
    types: list[str]
    at: str
    steps: list[StepOfTrail]


class Tree(TypedDict):
    """A tree with its size. `workspace` is the caller's own; null in lists if they have none."""

    id: str
    grove: str
    title: str
    mode: Literal["dialogue", "buffer"]
    description: str
    system_context: str
    summary: str
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"]
    memory: str
    author_note: str
    note_depth: int
    lore_scan: int
    lore_budget: int
    folder: str
    root: str
    node_count: int
    branch_count: int
    depth: int
    seq: int
    created_at: str
    archived_at: str | None
    tags: list[str]
    workspace: Place | None


class TreeChanged(TypedDict):
    """Changes to a tree; mode and grove never change. `seen`: fields as the sender has read
    them; a field that has another value by now is not overwritten (CONFLICT)."""

    title: NotRequired[str]
    description: NotRequired[str]
    system_context: NotRequired[str]
    summary: NotRequired[str]
    truncation: NotRequired[Literal["truncateMiddle", "rollingWindow", "stopAtLimit"]]
    memory: NotRequired[str]
    author_note: NotRequired[str]
    note_depth: NotRequired[int]
    lore_scan: NotRequired[int]
    lore_budget: NotRequired[int]
    folder: NotRequired[str]
    archived: NotRequired[bool]
    seen: NotRequired[dict[str, str | int]]


class TreeOnMap(TypedDict):
    """A tree whose texts are on a map."""

    id: str
    title: str


class TreePage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Tree]


class TreeSent(TypedDict):
    """A new tree; without `grove`, in the caller's first. `mode` cannot be changed later."""

    title: NotRequired[str]
    mode: Literal["dialogue", "buffer"]
    grove: NotRequired[str]
    description: NotRequired[str]
    system_context: NotRequired[str]


class TreeTyped(TypedDict):
    """The title of the tree, typed as confirmation."""

    title: str


class TreeUsage(TypedDict):
    """A tree's sums; `node` and `path` if a node was named."""

    tree: Sums
    node: Sums | None
    path: Sums | None
    participants: list[OfParticipant]
    people: list[OfParticipant]


Turn = TypedDict(
    "Turn",
    {
        "id": "str",
        "tree": "str",
        "status": "Literal['queued', 'leased', 'assembling', 'generating', 'executing', 'finishing', 'done', 'interrupted', 'halted', 'failed', 'stopped']",
        "participant": "str",
        "invoked_by": "str",
        "point": "str",
        "answers_below": "str",
        "asked_in": "str | None",
        "input": "str | None",
        "as": "Literal['continuation', 'aside']",
        "budget": "Budget",
        "usage": "Usage",
        "limit": "Literal['day', 'steps', 'items', 'rounds', 'tokens', 'time'] | None",
        "extension": "Extension | None",
        "generations": "list[str]",
        "steps": "list[int]",
        "node": "str | None",
        "finish": "str | None",
        "error": "dict[str, Any] | None",
        "created_at": "str",
        "ended_at": "str | None",
    },
)


TurnSent = TypedDict(
    "TurnSent",
    {
        "participant": "str",
        "node": "NotRequired[str]",
        "input": "NotRequired[str]",
        "as": "NotRequired[Literal['continuation', 'aside']]",
        "budget": "NotRequired[Literal['', 'quick', 'standard', 'thorough']]",
        "key": "NotRequired[str]",
    },
)


class TypeChanged(TypedDict):
    """The changes to the link type `type`; what is left out stays."""

    grove: NotRequired[str]
    type: NotRequired[str]
    name: NotRequired[str]
    reverse: NotRequired[str]
    group: NotRequired[str]
    colour: NotRequired[str]
    archetypes: NotRequired[list[str]]
    archived: NotRequired[bool]


class TypeSent(TypedDict):
    """A new link type. Without `reverse` it is symmetric."""

    grove: NotRequired[str]
    name: str
    reverse: NotRequired[str]
    group: NotRequired[str]
    colour: NotRequired[str]
    archetypes: NotRequired[list[str]]


class Usage(TypedDict):
    """What a turn has used; `shown` is the line about it that people and models read."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int
    shown: str


class Verification(TypedDict):
    """The outcome; `later_versions` are versions on a path that are newer than the ones built
    upon. `imported` is the number of checked nodes whose hashes only a file vouches for.
    `calls` is the number of checked calls: those that the nodes name, and for a whole tree all
    that are sealed; `broken_calls` are the ids of those whose stored answers are not what was
    sealed."""

    status: Literal["valid", "invalid", "incomplete"]
    checked: int
    imported: int
    calls: int
    broken_calls: list[str]
    broken: list[Broken]
    later_versions: list[str]


class ViewReport(TypedDict):
    """The problems of a view: its windows, and the evidence and requirements in its tree."""

    status: Literal["valid", "invalid"]
    violations: list[Violation]


class Violation(TypedDict):
    """A broken rule of views, with the windows and items concerned."""

    kind: Literal["OverlappingLenses", "StaleLens", "OrphanEvidence", "CircularThinking"]
    says: str
    windows: list[int]
    items: list[str]


class WantedTool(TypedDict):
    """An outside tool that a person has to allow, and the host of its server."""

    name: str
    host: str


class WebhookBody(TypedDict):
    """A webhook. `cursor` is the last seq that was accepted or left out; `error` is the reason
    of the last failure, if there was one since."""

    id: str
    grove: str
    tree: str | None
    url: str
    kinds: list[str]
    cursor: int
    tries: int
    error: str
    next_try_at: str | None
    stopped_at: str | None
    delivered_at: str | None
    created_at: str


class WebhookBodyPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[WebhookBody]


class WebhookChanged(TypedDict):
    """Changes to a webhook: the kinds of events, or whether it is stopped. A stopped one goes
    on where it was."""

    kinds: NotRequired[list[str]]
    stopped: NotRequired[bool]


class WebhookSent(TypedDict):
    """A new webhook: its address, the tree whose events are sent (without one: the grove's),
    and the kinds of events (empty: all)."""

    url: str
    tree: NotRequired[str]
    kinds: NotRequired[list[str]]


class WholeExploration(TypedDict):
    """An exploration with its texts and what it has used."""

    id: str
    tree: str
    point: str
    asked_by: str
    begun_by: str | None
    agent: str
    judge: str | None
    n: int
    depth: int
    keep: int
    by: Literal["judge", "check", "taste", "variety"]
    goal: str
    length: int
    budget: BudgetOfExploration
    status: Literal["running", "done", "stopped", "failed"]
    phase: str
    round: int
    said: str
    note: str | None
    created_at: str
    ended_at: str | None
    used: BudgetOfExploration
    texts: list[TextOfExploration]


Window = TypedDict(
    "Window",
    {
        "number": "int",
        "kind": "Literal['node', 'search', 'document', 'branch', 'range', 'tree', 'result', 'stash']",
        "visible": "bool",
        "keep": "bool",
        "closed": "bool",
        "ref": "str",
        "label": "str",
        "lines": "list[Any] | None",
        "count": "int",
        "of": "int | None",
        "text": "str",
        "before": "list[str]",
        "after": "list[str]",
        "as": "Literal['diff', 'prose'] | None",
        "live": "bool",
        "pad": "int",
        "read_only": "bool",
        "query": "str | None",
        "score": "float | None",
        "via": "str | None",
        "parent": "int | None",
        "open": "bool",
        "opens": "str",
        "document": "str | None",
        "stale": "bool",
        "changes": "list[str]",
        "current": "str | None",
        "revision": "int | None",
        "version_seen": "str",
        "opened_at": "str",
    },
)


class WindowPage(TypedDict):
    """One page; `count` of all."""

    count: int
    results: list[Window]


class Workspace(TypedDict):
    """A participant's own view of a tree; `seq` is the last event of its stream."""

    id: str
    participant: str
    tree: str
    position: str
    versions: dict[str, str]
    revision: int
    status: Status
    windows: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    scratchpad: str
    augments: list[dict[str, Any]]
    outline: Outline
    notifications: list[Notification]
    drafts: list[dict[str, Any]]
    settings: dict[str, Any]
    seq: int


class WorkspaceChanged(TypedDict):
    """Settings of a workspace; only the named ones change; null: as in its grove or tree."""

    settings: NotRequired[dict[str, Any]]


class WriteSent(TypedDict):
    """Exactly one change: `text` (all of it), `append`, `at` or `section` with `content`, or
    `old` with `new`. `revision` is the one that the caller has seen; without it nothing is
    checked."""

    text: NotRequired[str]
    append: NotRequired[str]
    at: NotRequired[str]
    section: NotRequired[str]
    content: NotRequired[str]
    old: NotRequired[str]
    new: NotRequired[str]
    revision: NotRequired[int]
