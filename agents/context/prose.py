"""How a chat is asked to go on with a text instead of answering it: one way each. PURE.

Which way is taken follows from what the endpoint can do; docs/decisions has the reasons and
bench/prose.py the figures.
"""

from collections.abc import Collection
from typing import Final

from loom.rules.probes import WAYS

BEGINS: Final = "(the text begins)"
PLAIN: Final = "plain"
BEGUN: Final = ("prefill", "continue_final")  # a turn of the model's own has begun
ASKED: Final = ("few_shot", "instruction")  # words ask for it

JOINT = "\n\n"
ASKS: Final = (
    "The user sends the end of a text. Write what comes next in it, in its language and voice, "
    "from the very place where it stops, even in the middle of a sentence or a word. Begin by "
    "repeating its last few words exactly, then go straight on. Write only the text itself: no "
    "greeting, no remark, no title, no quotation marks around it."
)
# (the end of a text, how it goes on): in the middle of a word, of a sentence, of a list.
EXAMPLES: Final = (
    (
        "She had never liked the sea. It was too large, and on grey mor",
        "and on grey mornings it seemed to look back at her. So they went to the hills instead.",
    ),
    (
        "- Take the wheel off.\n- Press the last air out of the tube.\n",
        "out of the tube.\n- Lift the tyre over the rim with a lever.\n",
    ),
    (
        "“I would have told you,” said Thomas, “but you never",
        "but you never asked.” After that neither of them spoke until the train had stopped.",
    ),
)

Messages = tuple[dict[str, str], ...]


def way_of(capabilities: Collection[str]) -> str:
    """The best way that these capabilities allow; `plain` where they name none."""
    return next((way for way in WAYS if way in capabilities), PLAIN)


def handed_over(system: str, text: str, way: str) -> Messages:
    """A text as the messages of a chat. Nothing but blanks cannot be begun or repeated: it
    goes plain.

    A begun turn ends before the text's last blanks, which providers refuse or drop; the seam
    knows of them.
    """
    if not text.strip() or way == PLAIN:
        return (*_system(system), _user(text or BEGINS))
    if way in BEGUN:
        return (*_system(system), _user(BEGINS), _model(text.rstrip()))
    shown = [one for end, on in EXAMPLES for one in (_user(end), _model(on))]
    examples = shown if way == "few_shot" else []
    head = JOINT.join(one for one in (system, ASKS) if one)
    return (*_system(head), *examples, _user(text))


def _system(text: str) -> Messages:
    return ({"role": "system", "content": text},) if text else ()


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _model(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}
