"""Text as markup: what may pass, and what must stay text."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.site.markdown import MAX_RENDERED, plain, rendered, rendered_by, with_boxes
from loom.text.markdown_blocks import blocks_parser
from tests.steps import steps

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "<javascript:alert(1)>",
    "![x](https://evil.test/p.png)",
    "![x](javascript:alert(1))",
    "![<img src=x onerror=alert(1)>](x)",
    '[x](https://a.test "onmouseover=alert(1)")',
    '[x](https://a.test"onclick="alert(1))',
    "<a href='javascript:alert(1)'>x</a>",
    "```<script>\nalert(1)\n```",
    "`<b onclick=alert(1)>`",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "<style>*{background:url(https://evil.test)}</style>",
    "<form action=https://evil.test><input></form>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[x]: javascript:alert(1)\n\n[x]",
    "# <script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
]
TAG = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>", re.IGNORECASE)
ALLOWED = set(
    "p br hr strong em s code pre blockquote ul ol li h3 h4 h5 h6 a span"
    " table thead tbody tr th td".split()
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_never_becomes_more_than_harmless_markup(text: str) -> None:
    html = rendered(text)
    for _, name, attributes in TAG.findall(html):
        assert name in ALLOWED
        for key, value in re.findall(r'([a-z-]+)="([^"]*)"', attributes):
            assert key in {"href", "title", "rel", "start", "tabindex", "role", "aria-label"}
            assert key != "href" or re.match(r"(https?:|mailto:|[^:]*$)", value)


def test_markdown_is_drawn() -> None:
    html = rendered("She *isn't* **angry**.\nNew line.\n\n- one\n- two")
    assert "<em>isn't</em>" in html.replace("&#39;", "'").replace("’", "'")
    assert "<strong>angry</strong>" in html
    assert "<br>" in html
    assert html.count("<li>") == 2


def test_code_that_scrolls_with_keys_has_a_name() -> None:
    pre = re.search(r"<pre[^>]*>", rendered("```\nx = 1\n```"))
    assert pre is not None
    for attribute in ('tabindex="0"', 'role="group"', 'aria-label="Code"'):
        assert attribute in pre[0]


def test_headings_are_below_those_of_the_page() -> None:
    assert "<h3>" in rendered("# One")
    assert "<h6>" in rendered("##### Five")
    assert "<h1" not in rendered("# One")


def test_an_image_is_its_words_and_nothing_is_fetched() -> None:
    html = rendered("![a cat](https://evil.test/cat.png)")
    assert "[image: a cat]" in html
    assert "evil.test" not in html


def test_definitions_that_lead_nowhere_are_shown() -> None:
    shown = rendered("a[^1] [b] [c]\n\n[^1]: Ibid.\n\n[b]: word\n\n[c]: https://example.org")
    assert "<p>[^1]: Ibid.</p>" in shown and "<p>[b]: word</p>" in shown
    assert 'a[^1] [b] <a href="https://example.org"' in shown and "[c]" not in shown


def test_a_definition_leads_somewhere_also_below_one_that_does_not() -> None:
    below = "[^1]: Ibid.\n[^2]: Also.\n[home]: https://x.org 'At home'\n[cat]: image:ab"
    shown = rendered(f"[text][home] [^1]\n\n{below}")
    assert '<a href="https://x.org"' in shown and "[home]" not in shown and "[cat]" not in shown
    assert "<p>[^1]: Ibid.<br>\n[^2]: Also.</p>" in shown
    for words in ("Words\n[home]: https://x.org", "[^1]: Ibid.\n[home]: https://x.org is my page"):
        assert "[home]: " in rendered(words), "as in CommonMark"
    assert "[home]" in rendered("[^1]: Ibid.\nmore\n[home]: https://x.org")


def test_links_tell_nobody_where_the_reader_came_from() -> None:
    assert 'rel="noopener noreferrer nofollow"' in rendered("[x](https://a.test)")


def test_very_long_text_is_shown_plain() -> None:
    assert rendered("*" * (MAX_RENDERED + 1)).startswith('<span class="plain">')


def test_plain_text_keeps_every_character() -> None:
    assert plain(" a\r\n  <b>&\n") == '<span class="plain"> a\r\n  &lt;b&gt;&amp;\n</span>'


def _by_author(text: str, *lengths: int) -> str:
    spans = [(length, f'<span data-who="{at}">') for at, length in enumerate(lengths)]
    return str(rendered_by(text, spans))


def test_each_character_of_markdown_is_its_author_s() -> None:
    text = "The *quick* [fox](https://fox.test/quick) & 1 < 2."
    drawn = _by_author(text, len("The *qui"), len("ck* [fo"), 100)
    assert '<em><span data-who="0">qui</span><span data-who="1">ck</span></em>' in drawn
    assert '<span data-who="1">fo</span><span data-who="2">x</span></a>' in drawn
    assert '<span data-who="2"> &amp; 1 &lt; 2.</span>' in drawn


def test_code_and_lists_have_their_authors_too() -> None:
    drawn = _by_author("* one\n* two\n\n```\nx = 1\ny = 2\n```", len("* one\n* "), 100)
    assert '<span data-who="0">one</span>' in drawn and '<span data-who="1">two</span>' in drawn
    assert '<span data-who="1">x = 1\ny = 2\n</span>' in drawn


@given(
    text=st.one_of(st.text(max_size=80), st.text('ab *_[]()`>#\n-1.&<"\\!|~é😀', max_size=120)),
    cuts=st.lists(st.integers(0, 40), min_size=1, max_size=5),
)
def test_who_wrote_it_changes_nothing_of_what_is_read(text: str, cuts: list[int]) -> None:
    drawn = _by_author(text, *cuts)
    bare = re.sub(r'<span data-who="\d">(.*?)</span>', r"\1", drawn, flags=re.DOTALL)
    assert unescape(bare) == unescape(str(rendered(text)))


@pytest.mark.parametrize("text", HOSTILE)
def test_authors_open_no_way_for_markup(text: str) -> None:
    tags = re.compile(r"</?[a-z][^>]*>")
    own = {'<span data-who="0">', '<span data-who="1">', "</span>"}
    assert set(tags.findall(_by_author(text, 5, 500))) - own <= set(tags.findall(rendered(text)))


def test_tasks_that_nobody_can_check_have_a_box() -> None:
    drawn = with_boxes(rendered("- [ ] buy rope\n- [x] sell it\n- plain"))
    assert "☐ buy rope" in drawn and "☑ sell it" in drawn and "[ ]" not in drawn
    apart = with_boxes(rendered("- [ ] one\n\n- [X] two"))
    assert "<p>☐ one" in apart and "<p>☑ two" in apart


def test_only_tasks_get_a_box() -> None:
    for text in ("[ ] no list", "- `[ ] code`", '<li data-task="1">[ ] written'):
        assert with_boxes(rendered(text)) == rendered(text)


def test_names_before_an_address_are_no_definitions() -> None:
    html = str(rendered("[Ada]: look at this\n[Bob]: https://x.org"))
    assert "[Ada]: look at this" in html and "https://x.org" in html


def test_twice_the_definitions_below_notes_take_twice_the_steps() -> None:
    def work(many: int) -> int:
        text = "[a]: b\n" * many + "words\n" + "[a]: http://x\n" * many
        return steps(lambda: blocks_parser(tables=False).parse(text))

    assert work(400) < 2.8 * work(200)
