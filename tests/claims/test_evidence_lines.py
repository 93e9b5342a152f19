"""The evidence of a claim as lines, and what an edited copy asks for."""

import pytest

from loom.claims.rules.evidence_lines import EvidenceLine, Shown, read_line, wanted

LIT = EvidenceLine("for", "a7x2", "", "", "moderate, verified", "the lamp is lit", "he saw it")
DARK = EvidenceLine("against", "b3k9", "lines:3-9", "", "weak, own words", "", "he slept")
SHOWN = [Shown(str(DARK), DARK), Shown(str(LIT), LIT), Shown("… 12 more")]


@pytest.mark.parametrize(
    "line",
    [
        LIT,
        DARK,
        EvidenceLine("undercuts", "tree:k2 node:c4m2", "", "a7x2", "weak, own words"),
        EvidenceLine("for", "doc:Ab12", '§"The lamp"', "", "", 'he "saw"\nit \\ there'),
        EvidenceLine("against", "trail:Ab12", why="a · b", answer="only at first"),
    ],
)
def test_a_line_is_read_as_it_was_written(line: EvidenceLine) -> None:
    assert read_line(str(line)) == line


@pytest.mark.parametrize(
    "line", ["", "text", "+", "+ the lamp", "- nobody saw it", "+ [a7x2] lamp", "+ [a7x2"]
)
def test_what_names_nothing_is_no_evidence(line: str) -> None:
    assert read_line(line) is None


def test_a_line_by_hand_needs_no_brackets() -> None:
    assert read_line('+ a7x2 "the exact words" · why') == EvidenceLine(
        "for", "a7x2", words="the exact words", why="why"
    )
    assert read_line('-doc:"My notes" §lamp') == EvidenceLine("against", 'doc:"My notes"', "§lamp")


def _edited(old: str, new: str) -> str:
    return "\n".join(line.text for line in SHOWN).replace(old, new)


def test_an_unchanged_copy_asks_for_nothing() -> None:
    asked = wanted(SHOWN, _edited("", ""))
    assert (asked.cites, asked.answers, asked.notes, asked.refused) == ((), (), (), ())


def test_lines_that_are_only_added_leave_the_others_alone() -> None:
    asked = wanted(SHOWN, '+ [k2m9] "another witness" · she was there\nWho lit it?\nAnd why?')
    assert asked.cites == (
        (1, EvidenceLine("for", "k2m9", words="another witness", why="she was there")),
    )
    assert asked.notes == ((3, "Who lit it?\nAnd why?"),) and not asked.refused


def test_a_changed_sign_is_a_contradiction_and_changed_words_a_new_quote() -> None:
    turned = str(LIT).replace("+", "-", 1)
    asked = wanted(SHOWN, _edited(str(LIT), turned))
    ((_, cite),) = asked.cites
    assert (cite.side, cite.ref, cite.words, cite.why) == ("against", "a7x2", LIT.words, "")
    asked = wanted(SHOWN, _edited("the lamp is lit", "the lamp is out"))
    ((_, cite),) = asked.cites
    assert (cite.side, cite.words) == ("for", "the lamp is out") and not asked.refused


def test_a_changed_reason_is_a_note_and_an_added_answer_addresses() -> None:
    asked = wanted(SHOWN, _edited("he saw it", "he was told of it"))
    assert [note for _, note in asked.notes] == ["[a7x2]: he was told of it"] and not asked.cites
    asked = wanted(SHOWN, _edited("he slept", "he slept · addressed: only at first"))
    ((_, answer),) = asked.answers
    assert (answer.ref, answer.answer) == ("b3k9", "only at first") and not asked.notes


def test_what_cannot_be_a_record_gets_a_sentence() -> None:
    asked = wanted(SHOWN, _edited("moderate, verified", "strong, by check"))
    (why,) = asked.refused
    assert "the strength of [a7x2] is computed, never declared" in why and not asked.cites
    asked = wanted(SHOWN, _edited(str(DARK), ""))
    assert asked.refused[0].startswith("Evidence is never deleted: [b3k9] stays.")
    asked = wanted(SHOWN, "- nobody saw it")
    assert asked.refused[0].startswith('line 1: "- nobody saw it" names no evidence')
    asked = wanted(SHOWN, "~ [k2m9] · he was not there")
    assert asked.refused == ("line 1: say what [k2m9] undercuts: ~ [k2m9] undercuts [b3k9].",)


def test_the_first_words_of_a_long_quote_stand_for_all_of_it() -> None:
    long = EvidenceLine("for", "a7x2", words="the lamp " * 50)
    shown = Shown(str(EvidenceLine("for", "a7x2", words="the lamp the lamp …")), long)
    turned = shown.text.replace("+", "-", 1)
    ((_, cite),) = wanted([shown], turned).cites
    assert (cite.side, cite.words) == ("against", long.words)


def test_a_long_line_is_read_in_linear_time() -> None:
    for many in ('+ [a7x2] "' + "\\" * 200_001, "+ " + "[" * 200_000, "+ [a7x2] " + " ·" * 100_000):
        read_line(many)
