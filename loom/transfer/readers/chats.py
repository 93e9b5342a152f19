"""Archives of chat programs: ChatGPT, Claude, LibreChat and Open WebUI. Branches are kept."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from loom.transfer.files import text_of
from loom.transfer.inputs import Input, Put, TreeInFile
from loom.transfer.message_images import named_in, without_data
from loom.transfer.node_collector import (
    NodeCollector,
    as_text,
    list_of,
    mapping_of,
    model_of,
    name_of,
    objects_of,
    rest_of,
    time_of,
    without_steps,
)
from loom.transfer.records import Head, MarkRecord, NodeRecord, Report

Describe = Callable[[dict[str, Any]], TreeInFile | None]


def archive(describe: Describe) -> Callable[[Input], Iterator[TreeInFile]]:
    """The `each` of a format whose files contain one chat, or a list of them. `describe` returns
    the part of one chat, None for other entries."""

    def read_trees(file: Input) -> Iterator[TreeInFile]:
        for value in file.values():
            part = describe(value) if isinstance(value, dict) else None
            if part is not None:
                yield part

    return read_trees


def _first(sketch: Any) -> dict[str, Any]:
    files = objects_of(sketch) if isinstance(sketch, list) else [mapping_of(sketch)]
    return files[0] if files else {}


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _add_thinking(record: NodeRecord, thinking: list[str], report: Report) -> None:
    """Keeps thinking beside the text."""
    if shown := _joined(thinking):
        record.imported["thinking"] = shown
        report.kept["thinking beside a text"] += 1


def _add_images(record: NodeRecord, *given: Any) -> None:
    """Takes the images in parts of a message; the extra data keeps no bytes."""
    record.images = named_in([*given])
    record.imported = mapping_of(without_data(record.imported))


# ChatGPT: a mapping of nodes with parents and children.


def is_chatgpt(sketch: Any) -> bool:
    """Chats with a `mapping`."""
    return "mapping" in _first(sketch)


def chatgpt(chat: dict[str, Any]) -> TreeInFile | None:
    """The part of one chat; None for an entry without a mapping."""
    mapping = chat.get("mapping")
    if not isinstance(mapping, dict):
        return None
    count = sum(1 for node in mapping.values() if mapping_of(node).get("message"))
    title = text_of(chat.get("title"), 300)
    return TreeInFile(title, time_of(chat.get("create_time")), count, partial(_read_chatgpt, chat))


def _read_chatgpt(chat: dict[str, Any], put: Put, report: Report) -> Head:
    collector = NodeCollector(put, report)
    hidden: list[dict[str, Any]] = []
    model = text_of(chat.get("default_model_slug"), 80)
    for key, given in mapping_of(chat.get("mapping")).items():
        node = mapping_of(given)
        message, parent = mapping_of(node.get("message")), name_of(node.get("parent"))
        record = _chatgpt_record(key, message, model, report) if message else None
        if record is None:
            collector.leave_out(key, parent)
            if message:
                hidden.append(message)
        else:
            collector.add(key, parent, record, children=list_of(node.get("children")))
    head = Head(mode="dialogue", title=text_of(chat.get("title"), 300), plan=collector.plan())
    head.current = name_of(chat.get("current_node"))
    head.imported = rest_of(chat, ("mapping", "title"), _CHATGPT, report)
    if shown := [entry for entry in hidden if _content(mapping_of(entry.get("content")))[0]]:
        head.imported |= rest_of({"hidden_messages": shown}, (), ("hidden_messages",), report)
    return head


_CHATGPT = frozenset(
    """id conversation_id create_time update_time current_node default_model_slug moderation_results
    plugin_ids gizmo_id gizmo_type is_archived is_starred safe_urls conversation_template_id voice
    async_status disabled_tool_ids blocked_urls conversation_origin is_do_not_remember memory_scope
    sugar_item_id owner status update_time end_turn weight metadata recipient channel name content
    author""".split()
)


def _chatgpt_record(
    key: str, message: dict[str, Any], model: str, report: Report
) -> NodeRecord | None:
    """The node of a message; None for one that is empty or that ChatGPT does not show."""
    author, meta = mapping_of(message.get("author")), mapping_of(message.get("metadata"))
    role = text_of(author.get("role"), 40)
    content = mapping_of(message.get("content"))
    text, extra, beside = _content(content)
    is_hidden = meta.get("is_visually_hidden_from_conversation") is True
    if (role == "system" and (is_hidden or not text)) or is_hidden or not (text or extra):
        return None
    kind = text_of(content.get("content_type"), 40)
    is_step = role == "tool" or kind in _STEPS or message.get("recipient") not in (None, "all", "")
    if kind == "user_editable_context":
        return None
    if is_step:
        report.kept["thinking and steps of tools"] += 1
    used = ("id", "author", "create_time", "content")
    record = NodeRecord(
        number=0,
        text=as_text(text, key),
        at=time_of(message.get("create_time")),
        source=key,
        flags=["excluded"] if is_step or message.get("weight") == 0 else [],
        imported=rest_of(message, used, _CHATGPT, report) | rest_of(beside, (), beside, report),
    )
    if kind not in ("text", ""):
        record.imported["content_type"] = kind
    if extra:
        attached = objects_of(meta.get("attachments"))
        names = {name_of(attachment.get("id")): attachment.get("name") for attachment in attached}
        pointed = [
            {**attachment, "name": names.get(_asset(attachment))}
            for attachment in objects_of(extra)
        ]
        record.imported |= rest_of({"content": extra}, (), ("content",), report)
        _add_images(record, pointed)
    if role != "user":
        slug = text_of(meta.get("model_slug"), 80) or model
        record.author_kind = "model"
        record.author = text_of(author.get("name"), 80) or ("System" if role == "system" else slug)
        record.author = model_of(record.author)
    return record


def _asset(part: dict[str, Any]) -> str:
    return text_of(part.get("asset_pointer"), 300).rpartition("/")[2]


_STEPS = frozenset(
    """thoughts reasoning_recap execution_output code tether_browsing_display tether_quote
    system_error computer_output sonic_webpage""".split()
)


def _content(content: dict[str, Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """The text of a message's content, its parts that are not text, and what else it has: the
    summaries of thoughts, the language of code."""
    texts, others = [], []
    used = {"content_type", "parts", "thoughts"}
    for part in list_of(content.get("parts")):
        inner = part.get("text") if isinstance(part, dict) else part
        if isinstance(inner, str):
            texts.append(inner)
        elif part is not None:
            others.append(part)
    thoughts: list[dict[str, Any]] = []
    for thought in objects_of(content.get("thoughts")):
        shown = "content" if thought.get("content") else "summary"
        texts.append(text_of(thought.get(shown), 4_000_000))
        thoughts.append({name: what for name, what in thought.items() if name != shown and what})
    for name in ("text", "result", "content", "user_profile", "user_instructions"):
        if not texts and isinstance(content.get(name), str):
            texts.append(content[name])
            used.add(name)
    beside = {name: what for name, what in content.items() if name not in used}
    if any(thoughts):
        beside["thoughts"] = thoughts
    return _joined(texts), others, beside


# Claude: messages in their order, with parents in newer archives.


_NO_PARENT = "00000000-0000-4000-8000-000000000000"


def is_claude(sketch: Any) -> bool:
    """Chats with `chat_messages`."""
    return "chat_messages" in _first(sketch)


def claude(chat: dict[str, Any]) -> TreeInFile | None:
    """The part of one chat."""
    messages = chat.get("chat_messages")
    if not isinstance(messages, list):
        return None
    title, at = text_of(chat.get("name"), 300), time_of(chat.get("created_at"))
    return TreeInFile(title, at, len(messages), partial(_read_claude, chat))


def _read_claude(chat: dict[str, Any], put: Put, report: Report) -> Head:
    collector = NodeCollector(put, report)
    model, before = text_of(chat.get("model"), 80) or "Claude", ""
    for message in objects_of(chat.get("chat_messages")):
        name = name_of(message.get("uuid")) or f"message {collector.count}"
        parent = name_of(message.get("parent_message_uuid"))
        if parent == _NO_PARENT:
            parent = ""
        elif parent not in collector and not message.get("parent_message_uuid"):
            parent = before
        collector.add(name, parent, _claude_record(name, message, model, report))
        before = name
    head = Head(mode="dialogue", title=text_of(chat.get("name"), 300), plan=collector.plan())
    head.summary = text_of(chat.get("summary"), 10_000)
    head.current = name_of(chat.get("current_leaf_message_uuid")) or collector.last
    used = ("chat_messages", "name", "summary", "account")
    head.imported = rest_of(chat, used, _CLAUDE, report)
    return head


_CLAUDE = frozenset(
    """uuid created_at updated_at project model settings index current_leaf_message_uuid is_starred
    attachments files files_v2 sync_sources content input_mode stop_reason truncated feedback
    parent_message_uuid""".split()
)


_CLAUDE_WORDS = ("text", "thinking")  # the types of blocks whose words are kept as such


def _claude_record(name: str, message: dict[str, Any], model: str, report: Report) -> NodeRecord:
    blocks = objects_of(message.get("content"))
    texts = [
        text_of(block.get("text"), 5_000_000) for block in blocks if block.get("type") == "text"
    ]
    thinking = [text_of(block.get("thinking"), 5_000_000) for block in blocks]
    others = [block for block in blocks if block.get("type") not in _CLAUDE_WORDS]
    is_model = message.get("sender") != "human"
    used = ("uuid", "sender", "text", "created_at", "content", "index", "parent_message_uuid")
    record = NodeRecord(
        number=0,
        text=as_text(_joined(texts) or message.get("text"), name),
        author=model if is_model else "",
        author_kind="model" if is_model else "human",
        at=time_of(message.get("created_at")),
        source=name,
        imported=rest_of(message, used, _CLAUDE, report),
    )
    _add_thinking(record, thinking, report)
    beside = [_beside_block(block) for block in blocks if block.get("type") in _CLAUDE_WORDS]
    if any(beside):
        record.imported |= rest_of({"blocks": beside}, (), ("blocks",), report)
    if others:
        record.imported |= rest_of({"content": others}, (), ("content",), report)
        report.kept["steps of tools beside a text"] += len(others)
    _add_images(record, message.get("files_v2") or message.get("files"), others)
    return record


def _beside_block(block: dict[str, Any]) -> dict[str, Any]:
    """What a block of text or thinking has beside its words: citations, times, summaries."""
    used = ("type", "text", "thinking")
    return {name: what for name, what in block.items() if name not in used and what}


# LibreChat: messages with parents, or nested.


def is_librechat(sketch: Any) -> bool:
    """A chat with `conversationId` and its messages, a list or a tree."""
    first = _first(sketch)
    messages = objects_of(first.get("messages")) + objects_of(first.get("messagesTree"))
    return any("messageId" in message for message in messages)


def librechat(chat: dict[str, Any]) -> TreeInFile | None:
    """The part of one chat."""
    messages = list(_unfolded(chat))
    title = text_of(chat.get("title"), 300)
    at = time_of(chat.get("createdAt")) or time_of(chat.get("exportAt"))
    return TreeInFile(title, at, len(messages), partial(_read_librechat, chat, messages))


def _unfolded(chat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All messages, parents first; nested ones too."""
    waiting = [
        (root, "")
        for root in reversed(
            objects_of(chat.get("messages")) + objects_of(chat.get("messagesTree"))
        )
    ]
    while waiting:
        message, above = waiting.pop()
        parent = message.get("parentMessageId") or above
        yield {**message, "parentMessageId": parent}
        name = name_of(message.get("messageId"))
        waiting.extend((child, name) for child in reversed(objects_of(message.get("children"))))


def _read_librechat(
    chat: dict[str, Any], messages: list[dict[str, Any]], put: Put, report: Report
) -> Head:
    collector = NodeCollector(put, report)
    for message in messages:
        name = name_of(message.get("messageId")) or f"message {collector.count}"
        parent = name_of(message.get("parentMessageId"))
        record = _librechat_record(name, message, report)
        collector.add(name, "" if parent.startswith("00000000-0000-") else parent, record)
    head = Head(mode="dialogue", title=text_of(chat.get("title"), 300), plan=collector.plan())
    head.current = collector.last
    options = mapping_of(chat.get("options"))
    head.system_context = text_of(options.get("promptPrefix"), 100_000)
    used = ("messages", "messagesTree", "title")
    head.imported = rest_of(chat, used, _LIBRECHAT, report)
    return head


_LIBRECHAT = frozenset(
    """conversationId endpoint exportAt branches recursive options createdAt updatedAt error
    unfinished isEdited finish_reason tokenCount endpoint iconURL attachments files plugin plugins
    conversationSignature clientId invocationId content sender model _id __v user
    feedback""".split()
)


def _librechat_record(name: str, message: dict[str, Any], report: Report) -> NodeRecord:
    blocks = objects_of(message.get("content"))
    texts = [_block_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    thinking = [_block_text(block.get("think")) for block in blocks]
    others = [block for block in blocks if block.get("type") not in ("text", "think")]
    is_user = message.get("isCreatedByUser") is True or message.get("sender") == "User"
    used = set("messageId parentMessageId text isCreatedByUser children content".split())
    used |= {"createdAt", "conversationId", "depth", "siblingIndex"}
    rating = text_of(mapping_of(message.get("feedback")).get("rating"), 40)
    record = NodeRecord(
        number=0,
        text=as_text(message.get("text") or _joined(texts), name),
        author="" if is_user else model_of(message.get("model") or message.get("sender")),
        author_kind="human" if is_user else "model",
        at=time_of(message.get("createdAt")),
        source=name,
        tags=[f"rated {rating}"] if rating.strip() else [],
        imported=rest_of(message, used, _LIBRECHAT, report),
    )
    _add_thinking(record, thinking, report)
    if others:
        record.imported |= rest_of({"content": others}, (), ("content",), report)
        report.kept["steps of tools beside a text"] += len(others)
    _add_images(record, message.get("files"), message.get("attachments"), others)
    return record


def _block_text(given: Any) -> str:
    return text_of(mapping_of(given).get("value") if isinstance(given, dict) else given, 5_000_000)


# Open WebUI: `history.messages` by id.


def is_openwebui(sketch: Any) -> bool:
    """Chats with `history.messages`, alone or in `chat`."""
    return bool(_openwebui_history(_first(sketch)))


def _openwebui_history(whole: dict[str, Any]) -> dict[str, Any]:
    chat = mapping_of(whole.get("chat")) or whole
    return mapping_of(mapping_of(chat.get("history")).get("messages"))


def openwebui(whole: dict[str, Any]) -> TreeInFile | None:
    """The part of one chat."""
    chat = mapping_of(whole.get("chat")) or whole
    messages = _openwebui_history(whole)
    title = text_of(whole.get("title"), 300) or text_of(chat.get("title"), 300)
    at = time_of(whole.get("created_at")) or time_of(chat.get("timestamp"))
    if not messages:
        return None
    return TreeInFile(title, at, len(messages), partial(_read_openwebui, title, whole))


def _read_openwebui(title: str, whole: dict[str, Any], put: Put, report: Report) -> Head:
    collector = NodeCollector(put, report)
    chat = mapping_of(whole.get("chat")) or whole
    for key, given in _openwebui_history(whole).items():
        message = mapping_of(given)
        is_user = message.get("role") == "user"
        here = ("id", "parentId", "childrenIds", "role", "content", "timestamp", "model")
        rating = mapping_of(message.get("annotation")).get("rating")
        text = as_text(_parts_text(message.get("content")), key)
        text, thinking, steps = (text, [], []) if is_user else without_steps(text)
        record = NodeRecord(
            number=0,
            text=text,
            author="" if is_user else model_of(message.get("model") or message.get("modelName")),
            author_kind="human" if is_user else "model",
            at=time_of(message.get("timestamp")),
            source=key,
            bookmark="" if message.get("favorite") is True else None,
            tags=[f"rated {rating}"[:200]] if isinstance(rating, int | str) else [],
            imported=rest_of(message, here, _OPENWEBUI, report),
        )
        _add_thinking(record, thinking, report)
        if steps:
            record.imported |= rest_of({"steps": steps}, (), ("steps",), report)
            report.kept["steps of tools beside a text"] += len(steps)
        _add_images(record, message.get("files"), message.get("content"))
        children = list_of(message.get("childrenIds"))
        collector.add(key, name_of(message.get("parentId")), record, children=children)
    head = Head(mode="dialogue", title=title, plan=collector.plan())
    head.system_context = text_of(chat.get("system"), 100_000)
    rest = {**{name: value for name, value in whole.items() if name != "chat"}, **chat}
    used = ("history", "messages", "title", "user_id", "system", "tags")
    tags = list_of(chat.get("tags")) or list_of(mapping_of(whole.get("meta")).get("tags"))
    names = dict.fromkeys(text_of(tag, 200) for tag in tags)
    head.marks = [MarkRecord("tag", name, -1) for name in names if name.strip()]
    head.imported = rest_of(rest, used, _OPENWEBUI, report)
    current = mapping_of(chat.get("history")).get("currentId")
    if isinstance(current, str):
        head.current = head.imported["currentId"] = current
    return head


_OPENWEBUI = frozenset(
    """id models model modelName modelIdx files tags timestamp created_at updated_at share_id
    archived pinned meta folder_id params done context info usage sources statusHistory annotation
    userContext lastSentence error favorite originalContent selectedModelId modelIdx""".split()
)


def _parts_text(content: Any) -> Any:
    """The texts of a content that may be a list of parts."""
    if not isinstance(content, list):
        return content
    return _joined([text_of(part.get("text"), 5_000_000) for part in objects_of(content)])


# Arc: messages with branches, each of which names the branch above it.


def is_arc(sketch: Any) -> bool:
    """Messages with `branches`."""
    messages = objects_of(mapping_of(sketch).get("messages"))
    return any("branches" in message for message in messages)


def arc(whole: dict[str, Any]) -> TreeInFile | None:
    """The part of the one chat of a file."""
    chat = mapping_of(whole.get("conversation"))
    count = len(list_of(whole.get("messages")))
    title = text_of(chat.get("title"), 300)
    return TreeInFile(
        title, time_of(chat.get("createdAt")), count, partial(_read_arc, title, whole)
    )


def _read_arc(title: str, whole: dict[str, Any], put: Put, report: Report) -> Head:
    collector = NodeCollector(put, report)
    people = {
        name_of(participant.get("id")): participant
        for participant in objects_of(whole.get("participants"))
    }
    labels = {
        name_of(entry.get("branchId")): text_of(entry.get("label") or entry.get("name"), 200)
        for entry in objects_of(whole.get("bookmarks"))
    }
    current = ""
    for message in objects_of(whole.get("messages")):
        current = name_of(message.get("activeBranchId")) or current
        for branch in objects_of(message.get("branches")):
            name, parent = name_of(branch.get("id")), name_of(branch.get("parentBranchId"))
            person = mapping_of(people.get(name_of(branch.get("participantId"))))
            record = _arc_record(name, branch, person, report)
            record.bookmark = labels.get(name)
            collector.add(name, "" if parent == "root" else parent, record)
    head = Head(
        mode="dialogue", title=title, plan=collector.plan(), current=current or collector.last
    )
    chat = mapping_of(whole.get("conversation"))
    head.imported = rest_of(
        {**whole, "conversation": chat}, ("messages", "bookmarks"), _ARC, report
    )
    return head


_ARC = frozenset(
    """conversation participants bookmarks exportedAt version contentBlocks participantId model
    sentByUserId attachments postHocOperation creationSource prefixHistory privateToUserId
    hiddenFromAi""".split()
)


def _arc_record(
    name: str, branch: dict[str, Any], person: dict[str, Any], report: Report
) -> NodeRecord:
    is_model = branch.get("role") not in ("user", "human")
    named = text_of(person.get("name"), 80)
    if not named and branch.get("role") == "system":
        named = "System"
    used = ("id", "parentBranchId", "role", "content", "createdAt")
    record = NodeRecord(
        number=0,
        text=as_text(branch.get("content"), name),
        author=model_of(named or branch.get("model")) if is_model else named,
        author_kind="model" if is_model else "human",
        at=time_of(branch.get("createdAt")),
        source=name,
        flags=["excluded"] if branch.get("hiddenFromAi") is True else [],
        imported=rest_of(branch, used, _ARC, report),
    )
    _add_images(record, branch.get("attachments"), branch.get("contentBlocks"))
    return record
