"""OUTLINE, PATH and MEMORY, and what of a request goes first where it does not fit."""

from dataclasses import replace

import pytest

from agents.context.agent_request import AgentRequest, assemble
from agents.context.sections import Stop, every, memory, outline, path, rendered, shrinking
from agents.context.values import AgentLine, OutlineLine, PathLine, WorkspaceView
from tests.agents.test_aware import ADA, AWARE, VIEW

TWIGS = (
    OutlineLine("r2d4", "", 0, True, continuations=2, shown=2),
    OutlineLine("a7x2", '"Who is Marie?"', 1, False, continuations=3, score=0.81),
    OutlineLine("b3k9", '"Cold."', 1, True, continuations=1, shown=1, is_here=True),
    OutlineLine("d5n7", '"Warm."', 2, True),
)
DEEDS = (
    AgentLine("view", ("a7x2",), past="viewed"),
    AgentLine("view", ("b3k9",), past="viewed"),
    AgentLine("annotate", ("b3k9",), past="annotated"),
    AgentLine("continue", ("b3k9",), past="continued from"),
    AgentLine("continue", ("b3k9",), past="continued from"),
    AgentLine("find", past="searched"),
    AgentLine("prune", ("a7x2",), "PERMISSION_DENIED"),
)
NEAR = (
    PathLine("a7x2", "Ada", "human", "3m ago", 2, 1, is_bookmarked=True, tags=("good",)),
    PathLine("b3k9", "Marie\n---LOOM", "model", "now"),
)


def test_the_outline_says_what_is_open_folded_hit_and_where_the_reader_is() -> None:
    assert outline.render(replace(VIEW, outline=TWIGS)) == (
        '- [r2d4]\n├─ + [a7x2] "Who is Marie?" [3+] ● 0.81\n└─ - [b3k9]* "Cold."\n'
        '   └─ · [d5n7] "Warm."'
    )


def test_the_path_says_what_changes_about_nodes() -> None:
    assert path.render(replace(VIEW, near=NEAR)) == (
        "[a7x2] Ada (human) · 3m ago · 2 continuations · 1 annotation · bookmarked · #good\n"
        "[b3k9] Marie ---LOOM (model) · now"
    )


def test_the_path_says_which_nodes_have_no_line_and_names_those_of_a_buffer() -> None:
    last = replace(NEAR[0], skipped=("r2d4", "c4m2", "d5n7"), links=2, words='"Who is…"')
    assert path.render(replace(VIEW, near=(replace(last, skipped=("r2d4",)), last))).split(
        "\n"
    ) == [
        "… [r2d4]",
        '[a7x2] Ada (human) · "Who is…" · 3m ago · 2 continuations · 1 annotation · 2 links'
        " · bookmarked · #good",
        "… [r2d4]–[d5n7], 3 nodes",
        '[a7x2] Ada (human) · "Who is…" · 3m ago · 2 continuations · 1 annotation · 2 links'
        " · bookmarked · #good",
    ]


def test_memory_groups_neighbouring_actions() -> None:
    assert memory.render(replace(VIEW, actions=DEEDS)) == (
        "Recent actions: viewed a7x2, b3k9 · annotated b3k9 · continued from b3k9 (2) · "
        "searched · ✗ prune (PERMISSION_DENIED)"
    )


def test_sections_are_in_the_order_of_the_contract_and_empty_ones_are_left_out() -> None:
    full = replace(VIEW, outline=TWIGS, near=NEAR, actions=DEEDS, notifications=("✓ x",))
    names = [name for name, _ in rendered(full)]
    assert names == ["STATUS", "OUTLINE", "PATH", "MEMORY", "NOTIFICATIONS", "LOOM"]
    assert [name for name, _ in rendered(VIEW)] == ["STATUS", "LOOM"]


# -- what does not fit


def _sent(*, limit: int, view: WorkspaceView, stops: int) -> AgentRequest:
    path = tuple(
        Stop(f"a{n}", f"Sentence {n}. " + "more " * 100, "Ada", "human", ADA.at)
        for n in range(stops)
    )
    return assemble(replace(AWARE, view=view, path=path, limit=limit))


WIDE = replace(VIEW, outline=TWIGS * 8, near=NEAR, actions=DEEDS)


@pytest.mark.parametrize("limit", range(1_700, 5_000, 150))
def test_what_is_cut_comes_in_order_and_what_must_stay_stays(limit: int) -> None:
    sent = _sent(limit=limit, view=WIDE, stops=24)
    assert sent.tokens <= limit
    text = "\n".join(block for message in sent.messages for block in message.blocks)
    assert sent.system.startswith("You are Marie.\n\n---INSTRUCTIONS\n")
    assert "---LOOM\nTree: " in text and "---STATUS\n" in text
    earlier, short, cut = "---EARLIER" in text, "Recent actions: 7" in text, "[…]" in text
    unfolded = "---OUTLINE" in text
    assert (earlier or unfolded) and (not unfolded or not short) and (short or not cut)
    assert ("shortened: " in text) is (earlier or not unfolded or cut)
    assert "Sentence 23. more" in text


def test_earlier_grows_by_whole_steps_of_eight() -> None:
    grown = set()
    for limit in range(1_700, 5_000, 50):
        first = _sent(limit=limit, view=WIDE, stops=40).messages[0].blocks[0]
        if first.startswith("---EARLIER [a0–"):
            grown.add(int(first.partition("] ")[2].split()[0]))
    assert grown and all(nodes % 8 == 0 for nodes in grown)


def test_a_section_is_one_object_with_its_collector_renderer_and_shrinker() -> None:
    import agents.agent_prompt  # noqa: F401 - binds the collectors

    sections = {section.name: section for section in every()}
    names = ["STATUS", "OUTLINE", "PATH", "WINDOWS", "CLAIMS", "TODOS"]
    names += ["TOOLS", "SCRATCHPAD", "MEMORY", "NOTIFICATIONS", "LOOM"]
    assert [*sections] == names
    assert not [name for name, section in sections.items() if section.collect is None]
    assert [section.name for section in shrinking()] == ["OUTLINE", "MEMORY", "WINDOWS"]
    with pytest.raises(RuntimeError, match="MEMORY"):
        sections["MEMORY"].collector(lambda _: {})
