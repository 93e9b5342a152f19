"""What a subject is sent, as text that can be read."""

import pytest

from agents.context.subject_request import (
    ASKS,
    EXAMPLES,
    PathPiece,
    PromptTooLong,
    SubjectPath,
    SubjectRequest,
    arrange,
    way_of,
)

Line = tuple[str, str]


def pieces(*lines: Line) -> tuple[PathPiece, ...]:
    return tuple(
        PathPiece(key, text, is_human=who == "human") for key, (who, text) in enumerate(lines)
    )


def shown(sent: SubjectRequest) -> str:
    if sent.messages is None:
        return f"PROMPT\n{sent.prompt}"
    return "\n".join(
        f"{message['role'].upper()}\n{message['content']}" for message in sent.messages
    )


def dialogue(*lines: Line, **settings: object) -> str:
    return shown(arrange(SubjectPath("dialogue", "chat", pieces(*lines), **settings)))  # type: ignore[arg-type]


def test_people_are_users_and_models_assistants() -> None:
    prompt = dialogue(
        ("human", "Who is Marie?"),
        ("model", "A clockmaker."),
        ("human", "Where does she live?"),
        persona="You write plainly.",
        system_context="A novel about Marie.",
    )
    assert prompt == (
        "SYSTEM\nYou write plainly.\n\nA novel about Marie.\n"
        "USER\nWho is Marie?\n"
        "ASSISTANT\nA clockmaker.\n"
        "USER\nWhere does she live?"
    )


def test_neighbours_of_one_role_are_joined_by_a_blank_line() -> None:
    prompt = dialogue(("human", "One."), ("human", " Two. "), ("model", "Three."), ("human", "4"))
    assert prompt == "USER\nOne.\n\n Two. \nASSISTANT\nThree.\nUSER\n4"


def test_a_path_that_begins_and_ends_with_the_model_is_framed() -> None:
    assert dialogue(("model", "It was cold.")) == (
        "USER\n(the text begins)\nASSISTANT\nIt was cold.\nUSER\nContinue."
    )


def test_a_provider_that_prefills_is_sent_the_models_last_words_last() -> None:
    assert dialogue(("human", "Go."), ("model", "It was"), prefill=True) == (
        "USER\nGo.\nASSISTANT\nIt was"
    )


def test_an_empty_path_says_that_the_text_begins() -> None:
    assert dialogue() == "USER\n(the text begins)"
    assert dialogue(persona="Be brief.") == "SYSTEM\nBe brief.\nUSER\n(the text begins)"


def test_no_message_of_a_chat_is_blank() -> None:
    assert dialogue(("human", "Go."), ("model", "\n\n"), ("human", "On."), ("human", " ")) == (
        "USER\nGo.\n\nOn."
    )
    assert dialogue(("human", " "), ("model", "\n"), persona=" ", system_context="\n") == (
        "USER\n(the text begins)"
    )
    assert dialogue(("human", "Go."), ("model", " "), prefill=True) == "USER\nGo."
    for way in ("plain", "prefill", "few_shot"):
        buffer = SubjectPath(
            "buffer", "chat", pieces(("human", " \n")), system_context=" ", way=way
        )
        assert shown(arrange(buffer)) == "USER\n(the text begins)"


def merged() -> tuple[PathPiece, ...]:
    cold = PathPiece(7, "It was cold.", is_human=False)
    return (
        PathPiece(1, "Begin.", is_human=True),
        PathPiece(2, "It was warm.", is_human=False),
        PathPiece(
            3,
            "Merge them.",
            is_human=True,
            context=(cold, PathPiece(2, "It was warm.", is_human=False)),
            instruction=(PathPiece(8, "Use short words.", is_human=True),),
        ),
    )


def test_sources_are_where_their_role_says() -> None:
    sent = arrange(SubjectPath("dialogue", "chat", merged(), persona="You write."))
    assert shown(sent) == (
        "SYSTEM\nYou write.\n\nUse short words.\n"
        "USER\nBegin.\n"
        "ASSISTANT\nIt was cold.\n\nIt was warm.\n"
        "USER\nMerge them."
    )


def test_a_buffer_is_one_string_byte_by_byte() -> None:
    path = pieces(("human", "Once upon "), ("model", " a time\r\n"), ("human", "\tthere"))
    sent = arrange(SubjectPath("buffer", "completion", path, persona="Never sent."))
    assert sent.prompt == "Once upon  a time\r\n\tthere"
    assert sent.messages is None
    chat = arrange(SubjectPath("buffer", "chat", path, persona="Never sent."))
    assert chat.messages == ({"role": "user", "content": "Once upon  a time\r\n\tthere"},)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Once upon", "USER\n(the text begins)\nASSISTANT\nOnce upon"),
        (" Once", "USER\n(the text begins)\nASSISTANT\n Once"),
        ("Once ", "USER\n(the text begins)\nASSISTANT\nOnce"),
        ("Once\n\n", "USER\n(the text begins)\nASSISTANT\nOnce"),
        (" \n", "USER\n(the text begins)"),
        ("", "USER\n(the text begins)"),
    ],
)
@pytest.mark.parametrize("way", ["prefill", "continue_final"])
def test_a_chat_that_goes_on_with_its_own_turn_is_sent_the_buffer_as_one(
    text: str, expected: str, way: str
) -> None:
    path = pieces(("human", text)) if text else ()
    sent = arrange(SubjectPath("buffer", "chat", path, way=way))
    assert (shown(sent), sent.text) == (expected, text)


def test_a_chat_that_must_be_asked_is_asked_and_perhaps_shown_how() -> None:
    path = pieces(("human", "Once "))
    asked = SubjectPath("buffer", "chat", path, way="instruction", system_context="A tale.")
    assert shown(arrange(asked)) == f"SYSTEM\nA tale.\n\n{ASKS}\nUSER\nOnce "
    shot = arrange(SubjectPath("buffer", "chat", path, way="few_shot"))
    assert shot.messages is not None
    assert [message["role"] for message in shot.messages] == [
        "system",
        *["user", "assistant"] * len(EXAMPLES),
        "user",
    ]
    assert shot.messages[-1]["content"] == "Once "


def test_what_asks_is_counted_with_what_is_sent() -> None:
    path = pieces(("human", "word " * 400))
    for way in ("plain", "instruction", "few_shot"):
        sent = arrange(SubjectPath("buffer", "chat", path, way=way, limit=400))
        assert sent.messages is not None
        assert sum(len(message["content"]) for message in sent.messages) <= 1600


def test_every_example_repeats_the_end_of_its_text() -> None:
    for end, on in EXAMPLES:
        assert any(end.rstrip().endswith(on[:size]) for size in range(8, len(end)))


def test_how_prose_is_handed_over_is_reported() -> None:
    assert SubjectPath("buffer", "chat", (), way="prefill").strategy == "prefill"
    assert SubjectPath("buffer", "chat", ()).strategy == "plain"
    assert SubjectPath("buffer", "completion", (), way="prefill").strategy == "plain"
    assert SubjectPath("dialogue", "chat", (), way="prefill").strategy is None
    assert way_of(["grammar", "instruction", "prefill"]) == "prefill"
    assert way_of(["instruction", "continue_final"]) == "continue_final"
    assert way_of(["grammar"]) == "plain"


def test_a_buffer_has_system_text_only_if_the_tree_has() -> None:
    path = pieces(("human", "Once"))
    reading = SubjectPath("buffer", "completion", path, system_context="A tale.")
    assert arrange(reading).prompt == "A tale.\n\nOnce"
    chat = SubjectPath("buffer", "chat", path, system_context="A tale.")
    assert shown(arrange(chat)) == "SYSTEM\nA tale.\nUSER\nOnce"


def test_a_buffer_leaves_sources_alone() -> None:
    assert arrange(SubjectPath("buffer", "completion", merged())).prompt == (
        "Begin.It was warm.Merge them."
    )


def test_a_dialogue_at_a_completion_endpoint_is_prose() -> None:
    path = pieces(("human", "Who?"), ("model", "Marie."))
    sent = arrange(SubjectPath("dialogue", "completion", path, persona="Plainly."))
    assert sent.prompt == "Plainly.\n\nWho?\n\nMarie."


def test_the_middle_goes_first_and_the_last_four_stay() -> None:
    lines = [("human" if n % 2 else "model", f"{n:02d}" + "x" * 18) for n in range(1, 13)]
    sent = arrange(SubjectPath("dialogue", "chat", pieces(*lines), persona="Stay.", limit=50))
    texts = [text for _, text in lines]
    assert shown(sent) == (
        f"SYSTEM\nStay.\nUSER\n{texts[0]}\n\n[…]\n\n{texts[4]}\n"
        f"ASSISTANT\n{texts[5]}\nUSER\n{texts[6]}\nASSISTANT\n{texts[7]}\n"
        f"USER\n{texts[8]}\nASSISTANT\n{texts[9]}\n"
        f"USER\n{texts[10]}\nASSISTANT\n{texts[11]}\n"
        "USER\nContinue."
    )
    assert sent.note == "left out 3 nodes in the middle"


def test_a_rolling_window_keeps_the_end_and_says_so() -> None:
    path = pieces(("human", "old words " * 100), ("model", "new words " * 4))
    sent = arrange(SubjectPath("buffer", "completion", path, truncation="rollingWindow", limit=20))
    assert sent.prompt is not None
    assert sent.prompt.endswith("new words " * 4)
    assert len(sent.prompt) <= 80
    assert sent.prompt.startswith(("old words", "words"))
    assert sent.note == "read the last 20 tokens"


def test_stop_at_limit_is_an_error() -> None:
    path = pieces(("human", "word " * 1000))
    with pytest.raises(PromptTooLong, match=r"about 1,250 tokens, and there is room for 99"):
        arrange(SubjectPath("dialogue", "chat", path, truncation="stopAtLimit", limit=99))


def test_system_text_is_never_cut() -> None:
    path = pieces(("human", "word"))
    with pytest.raises(PromptTooLong):
        arrange(SubjectPath("dialogue", "chat", path, persona="p" * 400, limit=100))


def test_four_last_nodes_that_do_not_fit_are_cut_in_front() -> None:
    path = pieces(*[("human", f"{n} " + "word " * 40) for n in range(5)])
    sent = arrange(SubjectPath("buffer", "completion", path, limit=60))
    assert sent.prompt is not None
    assert sent.prompt.endswith(path[-1].text)
    assert len(sent.prompt) <= 240
    assert sent.note == "read the last 60 tokens"
