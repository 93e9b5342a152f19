"""The written forms of the commands that exist so far, as the tables of docs/model.md §5.1 have
them. The registry derives its own; these stand for every kind of part."""

from loom.engine import registry
from loom.language.forms import Form, FormPart
from loom.language.verbs import Verbs

REF = FormPart("ref", "ref")
REF_OR_HERE = FormPart("ref", "ref", optional=True)
CONTENT = FormPart("content", "content")
WAY = FormPart(
    "way", "option", optional=True, key="as", value="choice", choices=("version", "fork")
)
VERSION = FormPart("version", "flag")
TO = FormPart("target", "ref", lead="to")
NAMES = FormPart("names", "tags", many=True)


def option(name: str, value: str = "word", **fields: object) -> FormPart:
    """An option that may be left out, its key being its name."""
    return FormPart(name, "option", optional=True, key=name, value=value, **fields)  # type: ignore[arg-type]


def count(name: str, default: int | None, maximum: float | None = None) -> FormPart:
    """A whole number from 1."""
    return option(name, "int", default=default, minimum=1, maximum=maximum)


def _form(verb: str, *parts: FormPart) -> Form:
    return Form(verb, parts)


def _look(verb: str, *parts: FormPart) -> Form:
    return Form(verb, parts, makes_window=True)


VIEW = _look(
    "view",
    REF,
    FormPart("length", "choice", optional=True, choices=("full", "summary")),
    FormPart("with_annotations", "flag"),
    FormPart("form", "option", True, key="as", value="choice", choices=("prose", "nodes", "diff")),
)
LIST = _look("list", REF, FormPart("type", "type", optional=True, default=""))
TREE = _look(
    "tree",
    FormPart("ref", "ref", True, lead="from"),
    count("depth", 5),
    FormPart("summary", "flag"),
)
TREE_RESET = _form("tree", FormPart("reset", "word", lead="reset"), count("depth", 2))
FIND = _look(
    "find",
    FormPart("query", "quoted"),
    option("in", "ref", choices=("tree", "grove"), default="tree"),
    count("max", 5, 50),
    count("context", 3),
    FormPart("open", "flag"),
)
FIND_CLEAR = _form("find", FormPart("clear", "word", lead="clear"))
SWITCH = _form("switch", FormPart("ref", "ref", lead="to"))
CONTINUE = _form(
    "continue",
    FormPart("ref", "ref", optional=True, lead="from"),
    count("n", 1, 10),
    FormPart("tokens", "option", True, key="tokens", value="int", minimum=1, shown="m"),
    option("temperature", "float", minimum=0, maximum=2),
    FormPart("using", "ref", True, lead="using", many=True, refs=("agent",), default=()),
)
RESPOND = _form(
    "respond",
    REF_OR_HERE,
    CONTENT,
    FormPart("sources", "option", True, key="from", value="refs", default=()),
    FormPart(
        "role",
        "option",
        optional=True,
        key="as",
        value="choice",
        choices=("context", "instruction"),
        default="context",
        needs="sources",
    ),
)
EDIT = _form("edit", REF, CONTENT, WAY)
EDIT_REPLACE = _form(
    "edit",
    REF,
    FormPart("old", "option", key="replace", value="quoted"),
    FormPart("new", "option", key="with", value="quoted"),
    WAY,
)
SPLIT = _form("split", REF, FormPart("at", "option", key="at", value="int", minimum=1))
ANNOTATE = _form(
    "annotate",
    REF,
    CONTENT,
    FormPart(
        "form",
        "option",
        optional=True,
        key="as",
        value="choice",
        choices=("note", "question", "suggestion", "warning", "objection"),
        default="note",
    ),
)
RESOLVE = _form("resolve", REF, FormPart("reason", "quoted", optional=True, default=""))
LINK = _form(
    "link",
    FormPart("source", "ref"),
    TO,
    FormPart("type", "option", True, key="as", default="related"),
    option("note", "quoted", default=""),
    option("confidence", "float", minimum=0, maximum=1),
)
UNLINK = _form(
    "unlink", FormPart("source", "ref"), TO, FormPart("type", "option", True, key="as", default="")
)
BOOKMARK = _form("bookmark", REF_OR_HERE, FormPart("label", "quoted", optional=True, default=""))
UNDO = _form("undo", count("n", 1, 20))
UNDO_REF = _form("undo", FormPart("ref", "ref", refs=("step", "turn")))
HELP = _look("help", FormPart("verb", "word", optional=True, default=""))

# Not built yet, but of kinds that the others lack.
ACCEPT = _form("accept", REF)
ACCEPT_EDITED = _form("accept", REF, FormPart("content", "content", lead="edited"))
CITE = _form(
    "cite",
    REF,
    FormPart("side", "choice", choices=("for", "against")),
    FormPart("claim", "ref"),
    FormPart("why", "quoted", optional=True, default=""),
)
ADDRESS = _form(
    "address", REF, FormPart("claim", "ref", lead="in", refs=("node",)), FormPart("how", "quoted")
)
CLAIM = _form(
    "claim",
    FormPart("statement", "quoted"),
    FormPart("about", "ref", optional=True, lead="about"),
    FormPart("cite", "option", key="cite", value="ref"),
)
EXPAND_TYPE = _form(
    "expand",
    FormPart("type", "type"),
    FormPart("ref", "ref", optional=True, lead="of"),
    count("max", 10, 40),
)
EXPAND_REF = _form("expand", REF)
HIDE = _form("hide", FormPart("windows", "ref", many=True, refs=("window",)))
HIDE_ALL = _form("hide", FormPart("all", "word", lead="all"))
GRAPH = _look(
    "graph", REF, FormPart("types", "option", key="types", value="words"), count("depth", 3, 10)
)
WRITE_AT = _form("write", REF, FormPart("at", "option", key="at", value="place"), CONTENT)
TODO_ADD = _form(
    "todo", FormPart("add", "word", lead="add"), FormPart("texts", "quoted", many=True)
)
STASH = _form(
    "stash",
    FormPart("label", "quoted"),
    FormPart("range", "range"),
    option("weight", "number", default=None),
)

ALL = (
    *(
        VIEW,
        LIST,
        TREE_RESET,
        TREE,
        FIND,
        FIND_CLEAR,
        SWITCH,
        CONTINUE,
        RESPOND,
        EDIT,
        EDIT_REPLACE,
    ),
    *(SPLIT, ANNOTATE, RESOLVE, LINK, UNLINK, BOOKMARK, UNDO, UNDO_REF, HELP),
    *(_form("unbookmark", REF_OR_HERE), _form("tag", REF, NAMES), _form("untag", REF, NAMES)),
    *(_form("prune", REF, VERSION), _form("restore", REF, VERSION)),
    *(_form("exclude", REF), _form("include", REF), _form("redo", count("n", 1, 20))),
    *(ACCEPT, ACCEPT_EDITED, CITE, ADDRESS, CLAIM, EXPAND_TYPE, EXPAND_REF, HIDE_ALL, HIDE, GRAPH),
    *(WRITE_AT, TODO_ADD, STASH),
)
FORMS: dict[str, list[Form]] = {}
for _one in ALL:
    FORMS.setdefault(_one.verb, []).append(_one)
ALIASES = {"read": "view", "show": "view", "go": "switch", "focus": "switch", "merge": "respond"}
VERBS = Verbs(FORMS, ALIASES, registry.language().facts)
