"""Addresses: everything that can be named, read and printed. Nothing is looked up here.

See docs/model.md §4.
"""

from dataclasses import replace

from loom.grammar.bad import Bad, short, unread
from loom.grammar.naming import ref_of, slice_of
from loom.grammar.shapes import IN_TREES, Ref, Slice, print_ref, print_slice
from loom.grammar.tokens import Token, tokens_of

__all__ = ["Ref", "Slice", "parse_ref", "print_ref", "print_slice"]


def parse_ref(text: str) -> Ref:
    """The one ref that `text` is, with its tree and its slice. Raises Bad."""
    refuse_controls(text)
    tokens = tokens_of(text)
    ref, at = read_ref(tokens, 0)
    while at < len(tokens):
        part = slice_of(tokens[at])
        if part is not None:
            ref = with_slice(ref, part)
        elif says_tree(tokens, at):
            at += 1
            ref = in_tree(ref, tree_of(tokens[at]))
        else:
            raise unread(f"{short(text)} is more than one reference.", "name one")
        at += 1
    return ref


def refuse_controls(text: str) -> None:
    """Raises Bad on U+0000 and on lone surrogates, which no text may hold."""
    if "\0" in text:
        raise unread("The text holds U+0000.", "leave it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise unread(
                "The text holds half a character (a lone surrogate).", "send whole characters"
            ) from None


def read_ref(tokens: list[Token], at: int) -> tuple[Ref, int]:
    """The ref at a place among tokens, `tree:… node:…` being one, and the place after it."""
    if at >= len(tokens):
        raise unread("A reference is missing.", "name an item, such as a7x2 or here")
    ref = ref_of(tokens[at])
    if ref is None:
        raise no_ref(tokens[at])
    if ref.kind == "tree" and at + 1 < len(tokens) and continues_tree(tokens[at + 1]):
        return in_tree(_demand(tokens[at + 1]), ref), at + 2
    return ref, at + 1


def no_ref(token: Token) -> Bad:
    """The refusal of a token that names nothing."""
    return unread(
        f"{short(token.raw)} is no reference.", 'name an item, such as a7x2, here or doc:"name"'
    )


def _demand(token: Token) -> Ref:
    ref = ref_of(token)
    if ref is None:
        raise no_ref(token)
    return ref


def continues_tree(token: Token) -> bool:
    """Whether a token after `tree:…` names something in that tree."""
    return token.head[:7].lower().startswith(("node:", "branch:"))


def says_tree(tokens: list[Token], at: int) -> bool:
    """Whether `in tree:…` stands at a place and says where the ref before it lies."""
    return (
        tokens[at].raw == "in"
        and at + 1 < len(tokens)
        and tokens[at + 1].head[:5].lower() == "tree:"
        and not (at + 2 < len(tokens) and continues_tree(tokens[at + 2]))
    )


def tree_of(token: Token) -> Ref:
    """The tree that a token names. Raises Bad for anything else."""
    ref = _demand(token)
    if ref.kind != "tree":
        raise unread(f"{short(token.raw)} is no tree.", 'name one as tree:"title" or tree:ID')
    return ref


def in_tree(ref: Ref, tree: Ref) -> Ref:
    """The same ref, in another tree. Raises Bad where that has no meaning."""
    if ref.kind not in IN_TREES or ref.tree_id or ref.tree_name:
        raise unread(
            f"{short(print_ref(ref))} cannot lie in {short(print_ref(tree))}.",
            'write tree:"name" node:a7x2',
        )
    return replace(ref, tree_id=tree.tree_id, tree_name=tree.tree_name)


def with_slice(ref: Ref, part: Slice) -> Ref:
    """The same ref with a slice. Raises Bad where it has one."""
    if ref.slice is not None:
        raise unread(f"{short(print_ref(ref))} has a slice already.", "give one slice a reference")
    return replace(ref, slice=part)
