"""Each sentence with which the lines of claims refuse (docs/model.md §10), with its code and hint;
nothing is changed by any of them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.claims.commands import claims as lines
from loom.claims.models import Cite, Claim
from loom.claims.rules import quotes
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Grove, Participant, User
from loom.trees.models import Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Run = Callable[[str], str]


class House:
    """A claim of the writer on a text of the owner, further texts, and an agent of the owner's."""

    def __init__(self, say: Say, writer: User, agent: Actor, tree: Tree) -> None:
        self.say, self.writer, self.agent, self.tree = say, writer, agent, tree
        self.texts = [
            str(say(f'respond root "The lamp was seen, {number}."').body["refs"][0])
            for number in range(5)
        ]
        self.claim = self.opened("The lamp is lit", self.texts[0])

    def opened(self, statement: str, cited: str, more: str = "") -> str:
        """A claim of the writer."""
        line = f'claim "{statement}" test:"look" cite:{cited} {more}'
        return str(self.say(line, by=self.writer).body["refs"][0])

    def concluded(self) -> None:
        """Takes the claim to its conclusion."""
        for text in self.texts[:4]:
            self.say(f"cite {text} for {self.claim}")
        self.say(f"check {self.claim}", by=self.writer)
        self.say(f'conclude {self.claim} "it is"', by=self.writer)

    def committed(self) -> None:
        """Takes the claim to its commitment."""
        self.concluded()
        self.say(f"commit {self.claim}", by=self.writer)

    def named(self, line: str) -> str:
        """The line with the names of what is here."""
        places = {f"t{number}": text for number, text in enumerate(self.texts)}
        return line.format(c=self.claim, **places)

    def refused(self, line: str, by: str = "") -> CommandError:
        """The refusal of a line by the owner, the writer or the agent."""
        line = self.named(line)
        if by == "agent":
            with pytest.raises(CommandError) as why:
                execute_line(self.agent, self.tree, Request(line))
            return why.value
        return refused(self.say, line, **({"by": self.writer} if by == "writer" else {}))


@pytest.fixture
def house(say: Say, writer: User, owner: User, grove: Grove, tree: Tree) -> House:
    agent = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Marie",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write", "doc_read", "doc_write", "cross_tree"],
    )
    return House(say, writer, acting_as(get_actor(owner, grove), agent), tree)


# What comes before, the line, by whom, the code, the sentence.
LONG = "x" * 2_001
REFUSED = [
    ("", 'claim "It is dark"', "", "REJECTED", "Need evidence for hypothesis."),
    ("", 'claim "the LAMP is lit." cite:{t1}', "", "CONFLICT", "The same was claimed before by "),
    ("", f'claim "{LONG}" cite:{{t1}}', "", "LIMIT_EXCEEDED", "A statement has at most 2,000 "),
    ("", 'claim "\u200b" cite:{t1}', "", "INVALID_SYNTAX", "A statement has something to be seen."),
    ("", "cite {c} for {c}", "", "REJECTED", "A claim is no evidence for itself."),
    ("", "cite {t0} for {c}", "writer", "REJECTED", "You gave [{t0}] as evidence already."),
    ("", 'cite {t1} for {c} words:"lamp"', "", "REJECTED", "A quote has at least 12 characters."),
    (
        "",
        f'cite {{t1}} for {{c}} words:"{"x" * 5000}"',
        "",
        "LIMIT_EXCEEDED",
        "A quote has at most ",
    ),
    ("", f'cite {{t1}} for {{c}} "{LONG}"', "", "LIMIT_EXCEEDED", "A reason has at most 2,000 "),
    ("", "cite {t1} undercuts {t2} in {c}", "", "NOT_FOUND", "[{t2}] is no evidence for [{c}]"),
    ("", 'address {t0} in {c} "no"', "", "REJECTED", "[{t0}] does not speak against it."),
    ("against", 'address {t4} in {c} " "', "", "INVALID_SYNTAX", "An answer says how."),
    ("answered", 'address {t4} in {c} "no"', "", "REJECTED", "[{t4}] is addressed already."),
    ("", 'conclude {c} "so"', "writer", "REJECTED", "Invalid transition: [{c}] is hypothesis, "),
    ("tested", 'conclude {c} " "', "writer", "INVALID_SYNTAX", "A conclusion says what follows."),
    ("tested", 'conclude {c} "so"', "writer", "REJECTED", "Insufficient evidence."),
    ("", "commit {c}", "writer", "INSUFFICIENT_QUANTITY", "moderate: have 1, need 3 evidence that"),
    ("three", "commit {c}", "writer", "INSUFFICIENT_QUALITY", "moderate: have 0, need 1 strong ev"),
    (
        "ready",
        "commit {c}",
        "writer",
        "REJECTED",
        "[{c}] is not concluded: without a conclusion",
    ),
    ("", "commit {c} level:tentative", "writer", "REJECTED", "Invalid transition: [{c}] is hypo"),
    ("concluded", "commit {c}", "agent", "PERMISSION_DENIED", "or a person commits this claim."),
    ("committed", "commit {c} level:tentative", "", "DOWNGRADE", "This statement is committed at "),
    ("committed", "commit {c}", "", "REJECTED", "This statement is committed at moderate already."),
    ("committed", 'withdraw {c} "no"', "", "REJECTED", "Invalid transition: [{c}] is committed, "),
    ("committed", 'veto {c} "no"', "agent", "PERMISSION_DENIED", "Only people veto."),
    ("committed", 'veto {c} " "', "", "INVALID_SYNTAX", "The reason is empty."),
    ("vetoed", 'veto {c} "no"', "", "REJECTED", "[{c}] is already vetoed by "),
    ("", 'withdraw {c} "no"', "agent", "PERMISSION_DENIED", "or a person withdraws this claim."),
    ("", 'withdraw {c} " "', "", "INVALID_SYNTAX", "The reason is empty."),
    ("withdrawn", "cite {t1} for {c}", "", "REJECTED", "Invalid transition: [{c}] is withdrawn, "),
    ("withdrawn", 'claim "The lamp is lit" cite:{t1}', "", "CONFLICT", "withdrawn: "),
    ("", "cite {t1} for {t2}", "", "NOT_FOUND", "A claim [{t2}] was not found."),
]


def _before(house: House, what: str) -> None:
    if what in ("against", "answered"):
        house.say(house.named('cite {t4} against {c} "dark"'))
    if what == "answered":
        house.say(house.named('address {t4} in {c} "he slept"'), by=house.writer)
    if what == "tested":
        house.say(house.named("check {c}"), by=house.writer)
    if what == "three":  # two more by the claimant, whom nobody confirms
        for text in ("{t1}", "{t2}"):
            house.say(house.named(f"cite {text} for {{c}}"), by=house.writer)
    if what == "ready":
        for text in house.texts[:4]:
            house.say(f"cite {text} for {house.claim}")
        house.say(house.named("check {c}"), by=house.writer)
    if what == "concluded":
        house.concluded()
    if what in ("committed", "vetoed"):
        house.committed()
    if what == "vetoed":
        house.say(house.named('veto {c} "they lied"'), by=house.writer)
    if what == "withdrawn":
        house.say(house.named('withdraw {c} "a mistake"'), by=house.writer)


def _state() -> list[tuple[object, ...]]:
    claims = Claim.objects.order_by("pk").values_list("pk", "state", "level", "strong", "weak")
    return [*claims, (Cite.objects.count(),)]


@pytest.mark.parametrize(("before", "line", "by", "code", "sentence"), REFUSED)
def test_each_refusal_has_its_code_and_sentence(
    house: House, before: str, line: str, by: str, code: str, sentence: str
) -> None:
    """The sentences of docs/model.md §10."""
    _before(house, before)
    state = _state()
    why = house.refused(line, by)
    assert why.code == code
    assert house.named(sentence) in why.message
    assert why.hint
    assert _state() == state


def test_a_claim_without_a_test_or_a_check_is_not_testable(house: House) -> None:
    house.say(house.named('claim "It burned" cite:{t1}'), by=house.writer)
    claim = Claim.objects.latest("pk").node.local_id
    why = refused(house.say, f"check {claim}", by=house.writer)
    assert (why.code, why.message) == ("REJECTED", "Hypothesis not testable.")


def test_both_faults_are_refused_by_the_earlier_and_a_contradiction_by_its_item(
    house: House,
) -> None:
    """Quantity before quality before counter-evidence before scope."""
    say, by = house.say, house.writer
    wide = house.opened("The lamp is lit everywhere", house.texts[0], "scope:grove")
    assert refused(say, f"commit {wide} level:strong", by=by).code == "INSUFFICIENT_QUANTITY"
    for text in house.texts:
        say(f"cite {text} for {wide}")
    dark = str(say('respond root "It was dark, and nobody saw a lamp."').body["refs"][0])
    say(f'cite {dark} against {wide} "it was dark"')
    say(f"check {wide}", by=by)
    say(f'conclude {wide} "it is"', by=by)
    why = refused(say, f"commit {wide} level:strong", by=by)
    assert (why.code, why.message) == (
        "UNADDRESSED_COUNTEREVIDENCE",
        "strong has no open counter-evidence: 1 to address.",
    )
    assert "it was dark" in (why.hint or "")
    say(f'address {dark} in {wide} "fog"', by=by)
    would = say(f"commit {wide} level:strong", by=by, dry_run=True)
    assert would.reply == "✓ CAN_COMMIT at strong"


def test_what_reaches_too_far_needs_a_person(house: House) -> None:
    """The scope comes last, and the hint says who has the request."""
    opened = execute_line(
        house.agent,
        house.tree,
        Request(house.named('claim "All lamps burn" scope:tree test:"look" cite:{t0}')),
    )
    claim = opened.body["refs"][0]
    for text in house.texts:
        house.say(f"cite {text} for {claim}")
    for line in (f"check {claim}", f'conclude {claim} "they do"'):
        execute_line(house.agent, house.tree, Request(line))
    why = house.refused(f"commit {claim}", "agent")
    assert why.code == "NEEDS_ESCALATION"
    assert why.message == "The scope tree at moderate needs authority 1; you have 0."
    assert "has the request" in (why.hint or "")


def test_a_circle_and_a_fourth_level_of_proofs_are_refused(house: House) -> None:
    below = house.opened("The oil was bought", house.texts[1])
    house.say(f"cite {below} for {house.claim}", by=house.writer)
    why = refused(house.say, f"cite {house.claim} for {below}", by=house.writer)
    assert why.message == f"[{house.claim}] rests on this claim: that would be a circle."
    Claim.objects.filter(node__local_id=below).update(state="committed", proofs=3)
    other = house.opened("The oil burned", house.texts[2])
    why = refused(house.say, f"cite {below} for {other}", by=house.writer)
    assert why.message == f"[{below}] rests on 3 levels of commitments; 3 is the most."


def test_what_models_are_not_sent_is_no_evidence_of_theirs(house: House) -> None:
    house.say(house.named("exclude {t3}"))
    why = house.refused("cite {t3} for {c}", "agent")
    assert why.message == house.named("[{t3}] is left out of what models are sent.")


def test_a_claim_has_room_for_so_many_cites(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_CITES", 1)
    why = house.refused("cite {t1} for {c}")
    assert (why.code, why.message) == ("LIMIT_EXCEEDED", "A claim has at most 1 cites.")


def test_no_refusal_of_claims_lacks_a_test() -> None:
    """Each sentence that the module can say begins one that these tests await."""
    source = Path(lines.__file__).read_text()
    awaited = Path(__file__).read_text()
    sentences = re.findall(
        r'"(?:REJECTED|INVALID_SYNTAX|LIMIT_EXCEEDED|PERMISSION_DENIED|NOT_FOUND|CONFLICT|DOWNGRADE)",\s+f?"([^"]+)"',
        source,
    )
    plain = [re.sub(r"\{[^}]*\}", "\0", sentence) for sentence in sentences]
    assert len(plain) > 20
    for sentence in plain:
        longest = max(sentence.split("\0"), key=len).strip()[:40]
        assert longest[:24] in awaited, sentence
    assert quotes.LEAST == 12
