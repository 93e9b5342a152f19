"""Archives of chat programs: every branch is kept, and what has no place is kept beside it."""

from typing import Any

from tests.transfer.reading import tree_of, trees_of


def message(role: str, text: Any, **more: Any) -> dict[str, Any]:
    """A message of ChatGPT."""
    content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
    return {"author": {"role": role}, "content": content, "metadata": {}, **more}


def chatgpt(title: str = "A chat") -> dict[str, Any]:
    """A chat with two answers to one question, and a hidden system message."""
    hidden = message("system", "")
    told = {"author": {"role": "assistant"}, "metadata": {"model_slug": "gpt-x"}}
    return {
        "title": title,
        "create_time": 1700000000.5,
        "current_node": "b",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
            "s": {"id": "s", "message": hidden, "parent": "root", "children": ["q"]},
            "a": {"id": "a", "message": message("assistant", "One.", **told), "parent": "q"},
            "b": {
                "id": "b",
                "message": message("assistant", "Two.", create_time=1700000002.0, **told),
                "parent": "q",
                "children": [],
            },
            "q": {
                "id": "q",
                "message": message("user", "Why?", create_time=1700000001.0),
                "parent": "s",
                "children": ["b", "a"],
            },
        },
    }


def test_a_chat_of_chatgpt_keeps_branches_in_their_order() -> None:
    tree = tree_of([chatgpt()])
    assert (tree.format.name, tree.title, tree.count) == ("chatgpt", "A chat", 4)
    assert tree.outline() == [("Why?", None), ("Two.", "Why?"), ("One.", "Why?")]
    assert tree.head.mode == "dialogue"
    assert tree.record("Why?").author == "" and tree.record("Why?").at.startswith(
        "2023-11-14T22:13:21"
    )
    assert (tree.record("Two.").author, tree.record("Two.").author_kind) == ("gpt-x", "model")
    assert tree.head.imported["current_node"] == "b"


def test_an_archive_has_a_tree_for_each_chat_and_passes_over_other_entries() -> None:
    trees = trees_of([chatgpt("First"), {"title": "no mapping"}, chatgpt("Second")])
    assert [tree.title for tree in trees] == ["First", "Second"]


def test_thinking_and_steps_of_tools_are_shown_and_not_sent() -> None:
    chat = chatgpt()
    steps = {
        "t": message("assistant", {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}),
        "u": message("assistant", "search", recipient="browser"),
        "v": message("tool", {"content_type": "execution_output", "text": "found"}),
    }
    above = "q"
    for name, step in steps.items():
        chat["mapping"][name] = {"id": name, "message": step, "parent": above, "children": []}
        above = name
    tree = tree_of(chat)
    assert [tree.record(text).flags for text in ("Hm.", "search", "found")] == [["excluded"]] * 3
    assert tree.report.kept["thinking and steps of tools"] == 3


def test_what_is_beside_the_words_of_a_message_of_chatgpt_is_kept() -> None:
    chat = chatgpt()
    thought = {"summary": "Greeting", "content": "Hm.", "finished": True}
    contents = {
        "t": {"content_type": "thoughts", "thoughts": [thought, {"summary": "Only this"}]},
        "c": {"content_type": "code", "language": "python", "text": "1 + 1"},
    }
    for name, content in contents.items():
        step = message("assistant", content)
        chat["mapping"][name] = {"id": name, "message": step, "parent": "q", "children": []}
    tree = tree_of(chat)
    thoughts = tree.record("Hm.\n\nOnly this")
    assert thoughts.imported["thoughts"] == [{"summary": "Greeting", "finished": True}, {}]
    assert tree.record("1 + 1").imported["language"] == "python"


def test_the_sample_of_chatgpt_has_all_its_branches(sample: Any) -> None:
    tree = tree_of(sample("chatgpt/native-conversation-v1.json"))
    question = "Analyze the attached fixture and create an artifact."
    assert tree.outline()[:2] == [(question, None), ("Superseded answer.", question)]
    assert tree.records[-1].text.startswith("Final answer.")
    assert len(tree.records) == 7
    assert tree.records[-1].imported["content"][0]["content_type"] == "image_asset_pointer"


def claude(*, with_parents: bool) -> dict[str, Any]:
    """A chat of Claude, with a branch where there are parents."""
    root = "00000000-0000-4000-8000-000000000000"
    rows = [
        ("1", "human", "Hello.", root),
        ("2", "assistant", "Hi.", "1"),
        ("3", "human", "A?", "2"),
    ]
    rows.append(("4", "human", "B?", "2"))
    messages = []
    for uid, sender, text, parent in rows:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if sender == "assistant":
            content.insert(0, {"type": "thinking", "thinking": "They greet."})
            content.append({"type": "tool_use", "name": "clock", "input": {}})
        sent: dict[str, Any] = {"uuid": uid, "sender": sender, "text": text, "content": content}
        sent["created_at"] = "2024-05-06T07:08:09.123456Z"
        sent["attachments"] = [{"file_name": "a.txt", "extracted_content": "inside"}]
        messages.append({**sent, "parent_message_uuid": parent} if with_parents else sent)
    return {"uuid": "u", "name": "Greetings", "chat_messages": messages, "account": {"uuid": "x"}}


def test_a_chat_of_claude_has_branches_where_the_archive_names_parents() -> None:
    tree = tree_of([claude(with_parents=True)])
    assert tree.outline() == [("Hello.", None), ("Hi.", "Hello."), ("A?", "Hi."), ("B?", "Hi.")]
    answer = tree.record("Hi.")
    assert (answer.author, answer.author_kind) == ("Claude", "model")
    assert answer.imported["thinking"] == "They greet."
    assert answer.imported["content"] == [{"type": "tool_use", "name": "clock", "input": {}}]
    assert answer.imported["attachments"][0]["extracted_content"] == "inside"
    assert answer.at == "2024-05-06T07:08:09.123456+00:00"


def test_the_citations_of_a_chat_of_claude_are_kept() -> None:
    chat = claude(with_parents=True)
    cited = {"type": "text", "text": " See.", "citations": [{"url": "https://e.org"}]}
    chat["chat_messages"][1]["content"].append(cited)
    answer = tree_of([chat]).record("Hi.\n\n See.")
    assert answer.imported["blocks"] == [{}, {}, {"citations": [{"url": "https://e.org"}]}]


def test_an_older_chat_of_claude_is_one_thread() -> None:
    tree = tree_of(claude(with_parents=False))
    assert tree.outline() == [("Hello.", None), ("Hi.", "Hello."), ("A?", "Hi."), ("B?", "A?")]
    assert "account" not in tree.head.imported


def test_a_chat_of_librechat_may_be_flat_or_nested() -> None:
    root = "00000000-0000-0000-0000-000000000000"
    flat: list[dict[str, Any]] = [
        {"messageId": "1", "parentMessageId": root, "text": "Q", "isCreatedByUser": True},
        {
            **{"messageId": "2", "parentMessageId": "1", "text": "A", "sender": "GPT-4"},
            **{"model": "m", "feedback": {"rating": "thumbsUp"}},
        },
        {"messageId": "3", "parentMessageId": "1", "text": "B", "sender": "GPT-4"},
    ]
    whole = {"conversationId": "c", "title": "T", "options": {"promptPrefix": "Be brief."}}
    nested = [{**flat[0], "children": [{**flat[1], "children": []}, flat[2]]}]
    for given in ({"messages": flat}, {"messagesTree": nested, "recursive": True}):
        tree = tree_of({**whole, **given})
        assert tree.format.name == "librechat" and tree.title == "T"
        assert tree.outline() == [("Q", None), ("A", "Q"), ("B", "Q")]
        assert [record.author for record in tree.records] == ["", "m", "GPT-4"]
        assert tree.head.system_context == "Be brief."
        assert tree.record("A").tags == ["rated thumbsUp"]


def test_a_chat_of_open_webui_keeps_branches_and_ratings() -> None:
    messages = {
        "1": {
            "id": "1",
            "parentId": None,
            "childrenIds": ["3", "2"],
            "role": "user",
            "content": "Q",
        },
        "2": {"id": "2", "parentId": "1", "childrenIds": [], "role": "assistant", "content": "A"},
        "3": {
            "id": "3",
            "parentId": "1",
            "childrenIds": [],
            "role": "assistant",
            "content": "B",
            "model": "llama",
            "timestamp": 1700000000,
            "annotation": {"rating": 1},
            "favorite": True,
        },
    }
    chat = {"title": "T", "history": {"currentId": "3", "messages": messages}, "system": "S"}
    tags = {"tags": ["sea", "sea", 1]}
    tree = tree_of([{"id": "x", "title": "T", "user_id": "u", "chat": chat, "meta": tags}])
    assert tree.format.name == "openwebui" and tree.head.system_context == "S"
    assert tree.outline() == [("Q", None), ("B", "Q"), ("A", "Q")]
    assert (tree.record("B").author, tree.record("B").tags) == ("llama", ["rated 1"])
    assert "user_id" not in tree.head.imported and tree.head.imported["currentId"] == "3"
    assert tree.record("B").bookmark == "" and tree.record("A").bookmark is None
    assert [(mark.kind, mark.label, mark.number) for mark in tree.head.marks] == [
        ("tag", "sea", -1)
    ]


def test_what_open_webui_writes_into_a_text_is_beside_it() -> None:
    thought = (
        '<details type="reasoning" done="true"><summary>Thought</summary>\n> Hm.\n</details>\n'
    )
    step = '<details type="tool_calls" name="clock" result="12">\n</details>'
    texts = {
        "1": f"{thought}It is{step} noon.",
        "2": f"{thought}",
        "3": '<details type="reasoning">',
    }
    rows = {key: {"id": key, "role": "assistant", "content": text} for key, text in texts.items()}
    rows["4"] = {"id": "4", "role": "user", "content": thought}
    tree = tree_of([{"chat": {"history": {"messages": rows}}}])
    parts = [
        (record.text, record.imported.get("thinking"), record.imported.get("steps"))
        for record in tree.records
    ]
    assert parts == [
        ("It is noon.", "> Hm.", [step[: step.index("\n")]]),
        ("", "> Hm.", None),
        (texts["3"], None, None),
        (thought, None, None),
    ]


def test_a_chat_of_arc_has_the_branches_of_its_messages() -> None:
    def branch(uid: str, parent: str, role: str, text: str, **more: Any) -> dict[str, Any]:
        return {"id": uid, "parentBranchId": parent, "role": role, "content": text, **more}

    tree = tree_of(
        {
            "conversation": {"title": "T"},
            "version": "1.0",
            "participants": [{"id": "p", "name": "Opus"}],
            "bookmarks": [{"branchId": "c", "label": "good"}],
            "messages": [
                {"id": "1", "order": 0, "branches": [branch("a", "root", "user", "Q")]},
                {
                    "id": "2",
                    "activeBranchId": "b",
                    "branches": [
                        branch("b", "a", "assistant", "A", participantId="p"),
                        branch("c", "a", "assistant", "B", model="m", hiddenFromAi=True),
                    ],
                },
            ],
        }
    )
    assert tree.format.name == "arc" and tree.title == "T"
    assert tree.outline() == [("Q", None), ("A", "Q"), ("B", "Q")]
    assert (tree.record("A").author, tree.record("B").author) == ("Opus", "m")
    assert (tree.record("B").flags, tree.record("B").bookmark) == (["excluded"], "good")
    assert tree.head.current == "b" and not tree.report.kept["bookmarks"]


def test_fields_that_are_named_like_facts_are_not_counted_as_such() -> None:
    chat = {**chatgpt(), "tags": ["x"], "images": [1]}
    says = tree_of(chat).report.says()
    assert not [line for line in says["came"] if line.startswith(("Tags", "Images"))]
    assert "field.tags" in says["beside"][0] and "field.images" in says["beside"][0]


def test_keys_are_never_kept() -> None:
    chat = chatgpt()
    chat["settings"] = {"api_key": "sk-" + "a" * 40, "theme": "dark"}
    chat["note"] = "Bearer " + "a" * 40
    tree = tree_of(chat)
    assert tree.head.imported["settings"] == {"theme": "dark"}
    assert "note" not in tree.head.imported and sum(tree.report.dropped.values()) == 2
