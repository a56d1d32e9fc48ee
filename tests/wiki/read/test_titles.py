import pytest
import wiki_site
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.read.titles import normalized

EN = wiki_site.site("en")

TITLES = [
  ("Anarchism", "Anarchism"),
  ("anarchism", "Anarchism"),
  ("  new__york  city_ ", "New york city"),
  ("New\u00a0York\u3000City", "New York City"),
  ("Foo#Section", "Foo"),
  ("Foo #Section", "Foo"),
  ("#Section", None),
  ("", None),
  (" _ ", None),
  (":", None),
  (":Foo", "Foo"),
  (": foo", "Foo"),
  ("AT&amp;T", "AT&T"),
  ("AT&T", "AT&T"),
  ("Caf&eacute;", "Café"),
  ("Cafe\u0301", "Café"),
  ("&#916;", "Δ"),
  ("100%25 wool", "100% wool"),
  ("Stra%C3%9Fe", "Straße"),
  ("Caf%E9", None),
  ("C%2B%2B", "C++"),
  ("éclair", "Éclair"),
  ("ßtraße", "ßtraße"),
  ("ŉ", "ŉ"),
  ("ǅ", "ǅ"),
  ("ǆ", "Ǆ"),
  ("ა", "ა"),
  ("\u200eFoo\u202c", "Foo"),
  ("category:people", "Category:People"),
  ("CATEGORY : people", "Category:People"),
  ("image:x.jpg", "File:X.jpg"),
  ("WP:about", "Wikipedia:About"),
  ("project:about", "Wikipedia:About"),
  ("talk:foo", "Talk:Foo"),
  ("Category:", None),
  ("Star Trek: Picard", "Star Trek: Picard"),
  (":fr:Titre", None),
  ("fr:Titre", None),
  ("wikt:word", None),
  ("en:foo", "Foo"),
  ("a[b", None),
  ("a|b", None),
  ("a{b}", None),
  ("a<b", None),
  ("a\ufffdb", None),
  ("a\tb", None),
  ("a&lt;b", None),
  ("..", None),
  ("../x", None),
  ("a/../b", None),
  ("a/..b", "A/..b"),
  ("a~~~b", None),
  ("x" * 255, "X" + "x" * 254),
  ("x" * 256, None),
  ("東" * 86, None),
  ("en:" * 10**6, None),
]


@pytest.mark.parametrize(("title", "expected"), TITLES, ids=[title[:20] for title, _ in TITLES])
def test_as_mediawiki_does(title, expected):
  assert normalized(title, EN) == expected


@pytest.mark.parametrize(
  ("language", "title", "expected"),
  [
    ("de", "bild:x.jpg", "Datei:X.jpg"),
    ("de", "file:x.jpg", "Datei:X.jpg"),
    ("de", "kategorie:ärzte", "Kategorie:Ärzte"),
    ("ru", "категория:люди", "Категория:Люди"),
    ("ru", "изображение:a.jpg", "Файл:A.jpg"),
    ("ru", "category:люди", "Категория:Люди"),
    ("ar", "تصنيف:مدن", "تصنيف:مدن"),
    ("ar", "القاهرة", "القاهرة"),
    ("ja", "画像:a.jpg", "ファイル:A.jpg"),
    ("tr", "istanbul", "İstanbul"),
    ("en", "istanbul", "Istanbul"),
    ("nl", "en:London", None),
  ],
)
def test_in_other_languages(language, title, expected):
  assert normalized(title, wiki_site.site(language)) == expected


def test_a_wiki_whose_titles_keep_their_first_letter():
  assert normalized("word", wiki_site.site("en", case="case-sensitive")) == "word"


@given(st.text(max_size=40) | st.text("ab:_ #%&;é26İß", max_size=20))
def test_is_its_own_canonical_form(title):
  once = normalized(title, EN)
  assert once is None or normalized(once, EN) == once
