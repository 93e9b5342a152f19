"""Pure: the probabilities of tokens, read from the body of an answer as it was received. A reader
takes the shapes of OpenAI's chat, completions and responses, of vLLM and Ollama, which follow them
or send their own lines, and of three builds of llama.cpp."""

import gzip
import json
import math
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loom.text.logprobs import finite_logprob

MOST_TOKENS = 20_000
MOST_RIVALS = 20
LONGEST_HELD = 16  # characters of tokens that are joined because each ends within a letter


@dataclass(frozen=True)
class Rival:
    """Another token that could have stood there, and its log probability."""

    text: str
    logprob: float

    @property
    def probability(self) -> float:
        """Its probability, from 0 to 1."""
        return math.exp(min(0.0, self.logprob))


@dataclass(frozen=True)
class ScoredToken:
    """A token of an answer with its log probability, and what else could have stood there, the
    likeliest first, itself included. Tokens that end within a character are joined with the next
    ones: `logprob` is then their sum."""

    text: str
    logprob: float
    rivals: tuple[Rival, ...] = ()

    @property
    def bits(self) -> float:
        """How surprising it was, in bits."""
        return -min(0.0, self.logprob) / math.log(2)

    @property
    def surprise(self) -> int:
        """How surprising it was, in five steps: 0 from 1/2 on, then 1/8, 1/32, 1/128, less."""
        return next((step for step, most in enumerate((1, 3, 5, 7)) if self.bits <= most), 4)

    @property
    def probability(self) -> float:
        """Its probability, from 0 to 1."""
        return math.exp(min(0.0, self.logprob))


_Raw = tuple[bytes, float | None, tuple[Rival, ...]]


def tokens_in(body: bytes, index: int = 0) -> list[ScoredToken]:
    """The tokens of the candidate `index` of an answer; none if it has no probabilities, or not
    for all of its tokens. Reads the body once."""
    raw: list[_Raw] = []
    for value in _values(body):
        for token in _in_value(value, index):
            raw.append(token)
            if len(raw) > MOST_TOKENS:
                return []
    if any(logprob is None for _, logprob, _ in raw):
        return []
    return _joined(raw)


def next_rivals(body: bytes) -> tuple[Rival, ...]:
    """What could stand at the first place of an answer, the likeliest first; empty if it has no
    probabilities."""
    for value in _values(body):
        for _, _, rivals in _in_value(value, 0):
            if rivals:
                return rivals
    return ()


def echoed_tokens(body: bytes, before: str, text: str) -> list[ScoredToken]:
    """The tokens of a text in an answer that repeats its prompt, `before + text`, with their
    probabilities: OpenAI's completions with `echo`, or vLLM's `prompt_logprobs`. None if the answer
    has none of them, or not this prompt. A first token without a probability, which no model gives
    to the beginning of a prompt, is as if it had been certain."""
    for value in _values(body):
        listed = value.get("choices")
        for choice in listed[:1] if isinstance(listed, list) else ():
            if not isinstance(choice, dict):
                continue
            raw = list(_of_choice(choice.get("logprobs")))
            raw = raw or list(_of_prompt(choice.get("prompt_logprobs")))
            if len(raw) <= MOST_TOKENS:
                return _after(raw, before, text)
    return []


def _after(raw: list[_Raw], before: str, text: str) -> list[ScoredToken]:
    """The tokens of `text` where `before + text` stands."""
    begins = next((at for at, (_, logprob, _) in enumerate(raw) if logprob is not None), len(raw))
    if any(logprob is None for _, logprob, _ in raw[begins:]):
        return []
    tokens = _joined([(piece, logprob or 0.0, rivals) for piece, logprob, rivals in raw])
    start = "".join(token.text for token in tokens).rfind(before + text)
    return _cut(tokens, start + len(before), text) if start >= 0 and begins < len(raw) else []


def _of_prompt(listed: Any) -> Iterator[_Raw]:
    """The tokens of vLLM's `prompt_logprobs`: null for the first one, then by the ids of tokens
    `{logprob, decoded_token}`, that of the prompt first."""
    for entry in listed if isinstance(listed, list) else ():
        given = list(entry.values()) if isinstance(entry, dict) else []
        those = [token for token in given if isinstance(token, dict)]
        rivals = [
            Rival(_storable(token.get("decoded_token", "")), logprob)
            for token in those
            if (logprob := finite_logprob(token.get("logprob"))) is not None
        ]
        if those:
            own = str(those[0].get("decoded_token", "")).encode("utf-8", "replace")
            yield own, finite_logprob(those[0].get("logprob")), _sorted(rivals)


def forced_tokens(bodies: Sequence[bytes], text: str) -> list[ScoredToken]:
    """The tokens of a text that llama.cpp was made to write, in several answers one after the
    other; none if they are not this text."""
    raw = [token for body in bodies for value in _values(body) for token in _in_value(value, 0)]
    if any(logprob is None for _, logprob, _ in raw):
        return []
    tokens = _joined(raw)
    return tokens if "".join(token.text for token in tokens) == text else []


def packed_tokens(tokens: Sequence[ScoredToken]) -> bytes:
    """Tokens with their rivals as they are stored."""
    rows = [
        [token.text, token.logprob, [[rival.text, rival.logprob] for rival in token.rivals]]
        for token in tokens
    ]
    return gzip.compress(json.dumps(rows).encode(), mtime=0)


def unpacked_tokens(packed: bytes) -> list[ScoredToken]:
    """Tokens that `packed_tokens` returned."""
    return [
        ScoredToken(text, logprob, tuple(Rival(*rival) for rival in rivals))
        for text, logprob, rivals in json.loads(gzip.decompress(packed))
    ]


def _joined(raw: list[_Raw]) -> list[ScoredToken]:
    tokens: list[ScoredToken] = []
    decoder = getincrementaldecoder("utf-8")("replace")
    held, total, rivals = "", 0.0, None
    for piece, logprob, others in raw:
        held += decoder.decode(piece)
        total += logprob or 0.0
        rivals = others if rivals is None else ()
        is_cut = decoder.getstate()[0] != b""  # within a letter, the rest of which comes next
        if is_cut and len(held) < LONGEST_HELD:
            continue
        text = held + decoder.decode(b"", final=True)
        if text:
            tokens.append(ScoredToken(text, total, rivals))
        held, total, rivals = "", 0.0, None
    return tokens


def _values(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a body: of server-sent events, of lines, or the body itself."""
    text = body.decode("utf-8", "replace")
    whole = _object(text)
    if whole is not None:
        yield whole
        return
    for line in text.split("\n"):  # a JSON string may hold U+2028, at which splitlines() also cuts
        value = _object(line.removeprefix("data:").strip())
        if value is not None:
            yield value


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _in_value(value: dict[str, Any], index: int) -> Iterator[_Raw]:
    """The tokens of one event, of whatever shape."""
    choices = value.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict) and (choice.get("index") or 0) == index:
                yield from _of_choice(choice.get("logprobs"))
        return
    if index:
        return
    if str(value.get("type", "response.output_text.delta")) == "response.output_text.delta":
        for name in ("logprobs", "completion_probabilities", "probs"):
            listed = value.get(name)
            if isinstance(listed, list):
                for entry in listed:
                    yield from _of_entry(entry)
                return


def _of_choice(held: Any) -> Iterator[_Raw]:
    if not isinstance(held, dict):
        return
    content = held.get("content")
    if isinstance(content, list):  # chat
        for entry in content:
            yield from _of_entry(entry)
        return
    tokens, logprobs = held.get("tokens"), held.get("token_logprobs")
    tops = held.get("top_logprobs")
    if not isinstance(tokens, list) or not isinstance(logprobs, list):
        return
    for at, (token, logprob) in enumerate(zip(tokens, logprobs, strict=False)):
        top = tops[at] if isinstance(tops, list) and at < len(tops) else None
        pairs = top.items() if isinstance(top, dict) else ()
        rivals = [
            Rival(_storable(text), number)
            for text, value in pairs
            if (number := finite_logprob(value)) is not None
        ]
        yield str(token).encode("utf-8", "replace"), finite_logprob(logprob), _sorted(rivals)


def _of_entry(entry: Any) -> Iterator[_Raw]:
    """An entry with its rivals: `{token, logprob, top_logprobs}`, with `prob` and `top_probs` in
    their place, or `{content, probs: [{tok_str, prob}]}` of older builds."""
    if not isinstance(entry, dict):
        return
    tops = next(
        (entry[name] for name in ("top_logprobs", "top_probs", "probs") if name in entry), None
    )
    rivals = [
        Rival(_bytes_of(top).decode("utf-8", "replace"), logprob)
        for top in (tops if isinstance(tops, list) else ())
        if isinstance(top, dict) and (logprob := _logprob_of(top)) is not None
    ]
    logprob = _logprob_of(entry)
    own = _bytes_of(entry)
    if logprob is None and isinstance(entry.get("probs"), list):
        text = own.decode("utf-8", "replace")
        logprob = next((rival.logprob for rival in rivals if rival.text == text), None)
    yield own, logprob, _sorted(rivals)


def _bytes_of(entry: dict[str, Any]) -> bytes:
    given = entry.get("bytes")
    if isinstance(given, list) and all(isinstance(b, int) and 0 <= b < 256 for b in given):
        return bytes(given)
    text = next((entry[name] for name in ("token", "tok_str", "content") if name in entry), "")
    return str(text).encode("utf-8", "replace")


def _logprob_of(entry: dict[str, Any]) -> float | None:
    if "logprob" in entry:
        return finite_logprob(entry["logprob"])
    prob = finite_logprob(entry.get("prob"))
    if prob is None:
        return None
    return math.log(prob) if prob > 0 else -100.0


def _storable(text: Any) -> str:
    """A token as a text without halves of surrogate pairs, which cannot be sent on."""
    return str(text).encode("utf-8", "replace").decode()


def _sorted(rivals: list[Rival]) -> tuple[Rival, ...]:
    return tuple(sorted(rivals, key=lambda rival: -rival.logprob)[:MOST_RIVALS])


def placed(tokens: list[ScoredToken], text: str) -> list[ScoredToken]:
    """The tokens that make up a text, which is the whole answer or a part of it, as where an end
    was cut off; none if it is not a part of the answer. The first and last may be cut."""
    joined = "".join(token.text for token in tokens)
    start = joined.find(text) if text else -1
    return _cut(tokens, start, text) if start >= 0 else []


def _cut(tokens: list[ScoredToken], start: int, text: str) -> list[ScoredToken]:
    """The tokens of a text that begins at a place among them."""
    pieces: list[ScoredToken] = []
    at = 0
    for token in tokens:
        first, last = max(at, start), min(at + len(token.text), start + len(text))
        if first < last:
            cut = token.text[first - at : last - at]
            pieces.append(token if cut == token.text else ScoredToken(cut, token.logprob, ()))
        at += len(token.text)
    return pieces
