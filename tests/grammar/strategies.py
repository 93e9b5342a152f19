"""Generated values for every kind of part: all texts that can be stored, all refs."""

from hypothesis import strategies as st

from loom.language.forms import Form, FormPart, is_many
from loom.language.json_arguments import as_json
from loom.language.refs import WORDS, DocumentPlace, Ref, Slice, is_type

TAKEN = {"here", "root", "parent", "focus", "all", "tree", "grove"}

wild = st.characters(codec="utf-8", exclude_characters="\0")
texts = st.text(wild | st.sampled_from('"\\n \n\r\t§#:,←→'), max_size=60)
names = texts.filter(bool)
ids = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
local_ids = ids.filter(
    lambda local_id: local_id not in TAKEN and not (local_id[0] == "t" and local_id[1:].isdigit())
)
counts = st.integers(1, 999_999_999)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    """A first and a last, in order."""
    first, last = draw(counts), draw(counts)
    return min(first, last), max(first, last)


slices = st.one_of(
    st.builds(
        lambda kind, span: Slice(kind, *span), st.sampled_from(["lines", "para", "part"]), spans()
    ),
    st.builds(lambda kind, last: Slice(kind, last=last), st.sampled_from(["head", "tail"]), counts),
    st.builds(lambda name: Slice("section", name=name), names),
)
trees = st.builds(lambda id_: Ref("tree", tree_id=id_), ids) | st.builds(
    lambda name: Ref("tree", tree_name=name), names
)
nodes = st.builds(lambda id_, prime: Ref("node", id_, prime=prime), local_ids, st.booleans())
in_trees = st.one_of(
    nodes,
    st.just(Ref("root")),
    st.builds(lambda id_: Ref("branch", id_), ids),
    st.builds(lambda id_, end: Ref("range", id_, end=end), ids, ids),
)
numbered = st.builds(
    lambda kind, number: Ref(kind, str(number)),
    st.sampled_from(["window", "task", "step"]),
    st.integers(0, 999_999_999),
)
named = st.builds(
    lambda kind, id_, name: Ref(kind, "" if name else id_, name),
    st.sampled_from(["document", "trail", "agent", "pipe"]),
    ids,
    texts,
)
others = st.one_of(
    numbered,
    named,
    st.sampled_from([Ref("here"), Ref("parent"), Ref("focus")]),
    st.builds(
        lambda kind, name: Ref(kind, name=name), st.sampled_from(["stash", "augment"]), names
    ),
    st.builds(lambda id_: Ref("turn", id_), ids),
)


def _placed(ref: Ref, tree: Ref | None, part: Slice | None) -> Ref:
    tree = tree or Ref("tree")
    return Ref(ref.kind, ref.id, ref.name, ref.prime, ref.end, tree.tree_id, tree.tree_name, part)


refs = st.one_of(
    st.builds(_placed, in_trees, st.none() | trees, st.none() | slices),
    st.builds(_placed, others, st.none(), st.none() | slices),
    trees,
)


jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def _slice_kind(ref: object) -> str:
    """The kind of the slice of a ref, which some forms have as an option instead."""
    return ref.slice.kind if isinstance(ref, Ref) and ref.slice is not None else ""


def value_of(form: Form, part: FormPart) -> st.SearchStrategy[object]:
    if (part.kind == "option" and part.value == "choice") or part.kind == "choice":
        return st.sampled_from(part.choices)
    if part.kind == "flag":
        return st.just(True)
    if part.kind == "word" and part.lead:
        return st.just(part.lead)
    if part.kind == "option":
        return _option(part)
    if part.kind in ("ref", "range"):
        return _refs(part).filter(lambda ref: _slice_kind(ref) not in form.plan.options)
    if part.kind == "type":
        words = st.text(st.characters(categories=["L"]), min_size=1, max_size=9)
        taken = {*form.plan.words, *form.plan.leads, "in"}
        return words.filter(is_type).filter(lambda word: word.lower() not in taken)
    if part.kind == "word":
        return st.sampled_from(["view", "focus", "here", "a7x2", "no-such"])
    if part.kind == "tags":
        return names.filter(lambda name: any(sign.isalpha() for sign in name))
    if part.value == "json":
        return st.dictionaries(texts, jsons, max_size=4).map(as_json)
    return texts


def _refs(part: FormPart) -> st.SearchStrategy[object]:
    if part.kind == "range":
        return st.builds(lambda id_, end: Ref("range", id_, end=end), ids, ids)
    if not part.refs:
        return refs.filter(lambda ref: part.takes(ref.kind))
    whole = st.one_of(*(_of_kind(kind) for kind in part.refs if kind != "tree"))
    placed = st.builds(_placed, whole, st.none(), st.none() | slices)
    return placed | trees if "tree" in part.refs else placed


def _of_kind(kind: str) -> st.SearchStrategy[Ref]:
    if kind == "agent":
        return st.builds(lambda id_, name: Ref("agent", "" if name else id_, name), ids, texts)
    if kind in WORDS:
        return st.just(Ref(WORDS[kind]))
    if kind in ("node", "branch", "turn"):
        return st.builds(lambda id_: Ref(kind, id_), local_ids)  # type: ignore[arg-type]
    return st.builds(lambda number: Ref(kind, str(number)), st.integers(1, 999))  # type: ignore[arg-type]


def _option(part: FormPart) -> st.SearchStrategy[object]:
    low = 0 if part.minimum is None else part.minimum
    high = 10**9 if part.maximum is None else part.maximum
    values: dict[str, st.SearchStrategy[object]] = {
        "int": st.integers(int(low), int(high)),
        "float": st.floats(low, high),
        "number": st.integers(int(low), int(high)) | st.floats(low, high),
        "word": st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
        "words": st.from_regex(r"[a-z_]{1,9}", fullmatch=True),
        "quoted": texts,
        "ref": st.sampled_from(part.choices) | refs if part.choices else refs,
        "refs": refs,
        "place": st.one_of(
            st.sampled_from([DocumentPlace("start"), DocumentPlace("end")]),
            st.builds(lambda line: DocumentPlace("line", line=line), counts),
            st.builds(lambda name: DocumentPlace("section", name=name), names),
        ),
    }
    return values[part.value]


@st.composite
def values_of(draw: st.DrawFn, form: Form) -> dict[str, object]:
    """A value for every part; what may be left out sometimes is."""
    values: dict[str, object] = {}
    for part in form.parts:
        left_out = (part.optional or part.kind == "flag") and draw(st.booleans())
        if left_out or (part.needs and values[part.needs] == ()):
            values[part.name] = part.absent
        elif is_many(part):
            values[part.name] = tuple(draw(st.lists(value_of(form, part), min_size=1, max_size=3)))
        else:
            values[part.name] = draw(value_of(form, part))
    return values
