"""English words for types: their kinds, such as a person for a painter, and what is listed of them.

Things that a sentence lists as examples of a type, such as guitars of instruments, are mostly words
without capitals, which no other rule gives a type.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from luke_jax.wiki.read.own_names import SMALL

# A word may be of two kinds: a museum is a place and an organization.
_WORDS = {
  "person": (
    "player skier footballer politician artist cricketer coach actress rower writer actor "
    "officer activist professor author singer producer painter composer cyclist bishop athlete "
    "mathematician journalist bobsledder priest businessman historian snowboarder educator "
    "academic poet leader architect engineer skater musician scientist songwriter designer "
    "manager sprinter entrepreneur prelate lawyer photographer teacher administrator commander "
    "official sculptor wife runner filmmaker general economist scholar boxer judge diplomat "
    "biathlete screenwriter executive servant senator researcher president driver physicist "
    "philanthropist publisher soldier editor curler curator businesswoman minister hurler "
    "physician racer pitcher attorney ruler personality woman man wrestler grandmaster novelist "
    "soprano founder luger ace singer-songwriter expert swimmer coxswain presenter chemist "
    "advocate figure rapper unionist pianist translator doctor midfielder king recipient "
    "justice surgeon merchant performer conductor inventor critic fighter speaker jumper "
    "comedian biologist dancer worker captain illustrator member philosopher secretary "
    "psychologist consultant cardinal pilot archdeacon archaeologist hurdler aviator "
    "cinematographer clergyman guitarist statesman owner agent feminist theologian goaltender "
    "playwright nobleman specialist pioneer queen shooter daughter golfer jurist sociologist "
    "missionary defender admiral son collector star condottiero vocalist printmaker lecturer "
    "noblewoman prince monarch industrialist defenceman tenor governor barrister trainer "
    "theorist ambassador archbishop botanist banker baritone outfielder representative investor "
    "campaigner librarian anthropologist commentator gymnast linebacker suffragette "
    "choreographer reformer violinist saint nurse chairman defenseman suffragist arranger "
    "landowner peer linguist essayist broadcaster monk pharaoh multi-instrumentalist emperor "
    "empress duke duchess earl baron count knight pope mayor chancellor premier astronaut "
    "astronomer geologist zoologist naturalist neuroscientist geneticist computer-scientist "
    "programmer drummer bassist cellist organist saxophonist trumpeter dj model magician "
    "reporter columnist blogger dramatist biographer satirist cartoonist animator director "
    "fencer sailor jockey goalkeeper striker quarterback catcher shortstop bowler batsman "
    "umpire referee consul colonel lieutenant major sergeant pirate explorer navigator "
    "revolutionary dissident terrorist murderer criminal gangster spy slave rabbi imam preacher "
    "evangelist nun martyr abbot deacon magnate tycoon socialite chef farmer fisherman miner "
    "logician statistician meteorologist ecologist entomologist ornithologist paleontologist "
    "pharmacologist neurologist psychiatrist dentist veterinarian anchor host warlord chief "
    "chieftain prisoner princess regent vizier sultan khan shah rajah maharaja congressman "
    "congresswoman councillor legislator parliamentarian dictator ceo drag-queen magistrate "
    "solicitor impresario instrumentalist keyboardist frontman soloist lyricist librettist "
    "mezzo-soprano person people individual human"
  ),
  "organization": (
    "team station company club band organization organisation agency party group league "
    "university college school ministry manufacturer publisher brand association assembly army "
    "court institution unit regiment firm chain department society union network service label "
    "council committee division federation institute authority government parliament "
    "legislature battalion brigade squadron corps foundation charity orchestra choir ensemble "
    "duo trio collective church congregation diocese bank airline corporation conglomerate "
    "cooperative newspaper magazine studio commission bureau academy laboratory office board "
    "alliance confederation coalition movement body provider broadcaster retailer brewery "
    "franchise developer hospital museum library police militia navy force senate congress "
    "quartet quintet"
  ),
  "location": (
    "village town city municipality settlement community locality district subdistrict area "
    "region county province state country nation republic kingdom island islands archipelago "
    "peninsula river stream tributary lake mountain hill valley park street road highway "
    "neighbourhood neighborhood suburb hamlet townland township parish tehsil ward reserve bay "
    "sea ocean forest desert ridge range summit peak volcano waterfall creek coast beach "
    "glacier canyon plateau plain capital commune constituency borough place site building "
    "house castle palace church temple mosque cathedral abbey monastery stadium arena airport "
    "station lighthouse bridge tower fort fortress mansion hotel hospital museum library "
    "theatre theater school square cemetery monument memorial dam reservoir canal port harbour "
    "harbor mine farm estate mall market venue skyscraper prison territory colony continent "
    "planet moon galaxy constellation star empire"
  ),
  "event": (
    "tournament championship event competition election battle war season race festival final "
    "match hurricane cyclone storm typhoon tour operation conference ceremony attack conflict "
    "offensive earthquake flood fire massacre siege campaign rebellion revolution revolt "
    "uprising riot strike protest treaty summit expo exhibition pageant games cup olympics "
    "referendum trial expedition crusade invasion coup murder assassination disaster accident "
    "crash pandemic epidemic raid skirmish engagement concert show convention congress derby "
    "regatta"
  ),
  "work": (
    "film album song novel game series book play show painting sculpture magazine journal "
    "newspaper single opera poem episode drama documentary sitcom musical novella serial story "
    "movie telenovela miniseries comic manga anime memoir autobiography biography symphony "
    "concerto ballet composition soundtrack mixtape ep essay anthology statue mural "
    "encyclopedia dictionary program programme"
  ),
  "product": (
    "car engine model locomotive aircraft smartphone app software console platform vehicle ship "
    "boat battleship cruiser destroyer frigate submarine vessel locomotives sedan suv rifle "
    "pistol gun missile tank weapon computer processor device camera drug medication train "
    "bomber helicopter spacecraft satellite rocket telescope website browser tool toy drink "
    "beer"
  ),
  "species": (
    "moth fish beetle bird snail plant spider dinosaur mammal lizard snake frog tree shrub "
    "orchid fungus mushroom butterfly genus bacterium bacteria squid shark bat ant wasp bee "
    "rodent mite virus algae flower herb"
  ),
  "award": ("award prize medal trophy honour honor scholarship"),
}
# What each kind is called, as a label.
NAMES = {
  "person": ("person",),
  "organization": ("organization", "organisation"),
  "location": ("location", "place"),
  "event": ("event",),
  "work": ("creative work", "work of art"),
  "product": ("product",),
  "species": ("species", "organism"),
  "award": ("award",),
}
KINDS: dict[str, tuple[str, ...]] = {}
for _kind, _words in _WORDS.items():
  for _word in _words.split():
    KINDS[_word] = (*KINDS.get(_word, ()), _kind)


def words(text: str) -> frozenset[str]:
  """Returns the words of a text."""
  return frozenset(text.split())


def kinds_of(label: str) -> tuple[str, ...]:
  """Returns the kinds that the last word of a label is of."""
  return KINDS.get(label.split()[-1], ())


# Words that end or begin no item, besides those that begin sentences.
_NO_ITEM = SMALL | words(
  "any several various less least own same has have had having do does did can could may might"
  " must will would should well etc via per along across around behind near towards toward using"
  " based used called known being just very much several than that which whose whom including"
  " became made became found said"
)
# Nouns that say little of what is listed, and a word that is no singular.
_VAGUE = words(
  "aspect reason thing case factor issue item feature topic area theme way matter element other"
  " group number part purpose role type form kind variety name time year member example piece"
  " detail point change problem effect result condition opportunity interest characteristic"
  " attribute trait component category concern consideration idea question goal concept property"
  " word term figure object source process section line state order place set activity function"
  " service action event application artwork shell solution partner pack decision assumption prop"
  " specie"
)
_LONGEST = 3  # words of an item
_ENDS = frozenset(".,;:)")


class Listing(NamedTuple):
  """The place of a noun, the noun in the singular, and the words of each thing that is listed."""

  place: int
  noun: str
  items: tuple[tuple[int, int], ...]


def listings(words: Sequence[str], nouns: Mapping[str, str]) -> Iterator[Listing]:
  """Yields the lists in a sentence of things that are `nouns`, which are given by their plurals."""
  for place, word in enumerate(words):
    noun = nouns.get(word)
    if noun is None or noun in _VAGUE:
      continue
    after = place + 1 + (words[place + 1 : place + 2] == [","])
    if words[after : after + 2] == ["such", "as"]:
      items = _items(words, after + 2)
    elif words[after : after + 1] == ["including"]:
      items = _items(words, after + 1)
    elif place > 2 and words[place - 1] == "other" and words[place - 2] in ("and", "or"):
      items = _item_before(words, place - 2)
    else:
      continue
    if items:
      yield Listing(place, noun, items)


def _items(words: Sequence[str], start: int) -> tuple[tuple[int, int], ...]:
  """Returns the items of a list that begins at `start`, up to the first that may not be one."""
  items = []
  while (end := _end(words, start)) > start:
    after = end + (words[end : end + 1] == [","])
    after += after < len(words) and words[after] in ("and", "or")
    if end - start <= _LONGEST and (end == len(words) or words[end] in _ENDS or after > end):
      items.append((start, end))
    if after == end or end - start > _LONGEST:
      break
    start = after
  return tuple(items)


def _item_before(words: Sequence[str], end: int) -> tuple[tuple[int, int], ...]:
  """Returns the item that ends before "and other", if it is known where it begins."""
  end -= words[end - 1] == ","
  start = end
  while start and end - start <= _LONGEST and _of_item(words[start - 1]):
    start -= 1
  known = start and words[start - 1] in (",", "and", "or")
  return ((start, end),) if known and 0 < end - start <= _LONGEST else ()


def _end(words: Sequence[str], start: int) -> int:
  end = start
  while end < len(words) and _of_item(words[end]):
    end += 1
    if words[end : end + 1] == ["-"] and end + 1 < len(words) and _of_item(words[end + 1]):
      end += 2
  return end


def _of_item(word: str) -> bool:
  return word[:1].isalpha() and word.islower() and word not in _NO_ITEM
