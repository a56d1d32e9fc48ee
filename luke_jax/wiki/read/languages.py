"""Names that differ between languages: those of namespaces, of templates and of other wikis."""

from typing import NamedTuple

# MediaWiki's own names, which every wiki accepts beside its local ones.
CANONICAL_NAMESPACES = {"media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3}
CANONICAL_NAMESPACES |= {"project": 4, "project talk": 5, "file": 6, "file talk": 7, "image": 6}
CANONICAL_NAMESPACES |= {"image talk": 7, "mediawiki": 8, "mediawiki talk": 9, "template": 10}
CANONICAL_NAMESPACES |= {"template talk": 11, "help": 12, "help talk": 13, "category": 14}
CANONICAL_NAMESPACES |= {"category talk": 15}


class Language(NamedTuple):
  """Names in one language, besides those in its dumps; upper and lower case are equal."""

  files: tuple[str, ...] = ()
  categories: tuple[str, ...] = ()
  projects: tuple[str, ...] = ()
  disambiguation: tuple[str, ...] = ()


# Names that templates have in many languages, because they were taken over from English.
DISAMBIGUATION = ("Disambig", "Disambiguation")

_ENGLISH_DISAMBIGUATION = (
  *("Dab", "Disamb", "Disambig-cleanup", "Disambiguation cleanup", "Disambiguation page", "DAB"),
  *("Airport disambiguation", "Airport disambig", "Airportdis"),
  *("Biology disambiguation", "Call sign disambiguation", "Callsigndis", "Caselaw disambiguation"),
  *("Chinese title disambiguation", "Church disambiguation", "Churchdis"),
  *("Dab-cleanup", "Dabpage", "Disam", "Disambiguate", "Dbig"),
  *("Genus disambiguation", "Geodis", "Geo-dis", "Geodab", "Hndis", "Hndab", "Hndis-cleanup"),
  *("Hospital disambiguation", "Hospitaldis", "Human name disambiguation"),
  *("Human name disambiguation cleanup", "Letter disambiguation"),
  *("Letter-Number Combination Disambiguation", "Letter-number combination disambiguation"),
  *("LNCD", "Math dab", "Mathdab", "Mathematical disambiguation", "Military unit disambiguation"),
  *("Mil-unit-dis", "Music disambiguation", "Number disambiguation", "Numberdis", "NumberDab"),
  *("Opus number disambiguation", "Phonetics disambiguation", "Place name disambiguation"),
  *("Portal disambiguation", "Road disambiguation", "Roaddis", "School disambiguation"),
  *("Schooldis", "Species Latin name abbreviation disambiguation"),
  *("Species Latin name disambiguation", "SpeciesLatinNameDisambig", "Station disambiguation"),
  *("Stationdis", "Surname disambiguation", "Synagogue disambiguation", "Synagoguedis"),
  *("Taxonomic authority disambiguation", "Taxonomy disambiguation", "Template disambiguation"),
  *("TLAdisambig", "TLAdis", "Tla-dab", "Township disambiguation", "Wikipedia disambiguation"),
  *("WP disambig", "WoO number disambiguation"),
)

LANGUAGES = {
  "ar": Language(
    ("صورة", "ملف"), ("تصنيف",), ("ويكيبيديا",), ("توضيح", "صفحة توضيح", "توضيح أسماء أشخاص")
  ),
  "bn": Language(("চিত্র",), ("বিষয়শ্রেণী",), ("উইকিপিডিয়া",), ("দ্ব্যর্থতা নিরসন", "দ্ব্যর্থতা-নিরসন")),
  "de": Language(("Bild", "Datei"), ("Kategorie",), ("WP",), ("Begriffsklärung", "BKL")),
  "el": Language(("Εικόνα", "Αρχείο"), ("Κατηγορία",), ("ΒΠ",), ("Αποσαφήνιση", "Αποσαφ")),
  "en": Language((), (), ("WP",), _ENGLISH_DISAMBIGUATION),
  "es": Language(
    ("Imagen", "Archivo"), ("Categoría",), ("WP",), ("Desambiguación", "Desambiguacion", "Desambig")
  ),
  "fi": Language(("Kuva", "Tiedosto"), ("Luokka",), ("WP",), ("Täsmennyssivu", "Täsmennys")),
  "fr": Language(
    ("Fichier",),
    ("Catégorie",),
    ("WP",),
    (
      *("Homonymie", "Homonymes", "Homonyme", "Arrondissements homonymes", "Titres homonymes"),
      *("Patronyme homonyme", "Personnes homonymes", "Saints homonymes", "Villes homonymes"),
      *("Bandeau homonymie", "Bandeau standard pour page d'homonymie", "Paronymie", "Toponymie"),
    ),
  ),
  "hi": Language(("चित्र",), ("श्रेणी",), ("विकिपीडिया",), ("बहुविकल्पी", "बहुविकल्पी शब्द")),
  "id": Language(("Gambar", "Berkas"), ("Kategori",), ("WP",), ("Disambiguasi",)),
  "it": Language(("Immagine",), ("Categoria",), ("WP",), ("Disambigua",)),
  "ja": Language(
    ("ファイル", "画像"),
    ("カテゴリ",),
    ("WP",),
    ("Aimai", "曖昧さ回避", "人名の曖昧さ回避", "地名の曖昧さ回避"),
  ),
  "ko": Language(("그림", "파일"), ("분류",), ("백",), ("동음이의", "동명이인", "동음이의어 문서")),
  "nl": Language(("Afbeelding", "Bestand"), ("Categorie",), ("WP",), ("Dp", "Doorverwijspagina")),
  "pl": Language(
    ("Grafika", "Plik"), ("Kategoria",), ("WP",), ("Ujednoznacznienie", "Strona ujednoznaczniająca")
  ),
  "pt": Language(
    ("Imagem", "Ficheiro", "Arquivo"),
    ("Categoria",),
    ("WP",),
    ("Desambiguação", "Desambiguacao", "Desambig", "Dab"),
  ),
  "ru": Language(
    ("Изображение", "Файл"), ("Категория",), ("ВП",), ("Неоднозначность", "Многозначность")
  ),
  "sv": Language(
    ("Bild", "Fil"),
    ("Kategori",),
    ("WP",),
    ("Förgrening", "Förgreningssida", "Gren", "Grensida", "Betydelselista", "Flertydig"),
  ),
  "sw": Language(("Picha", "Faili"), ("Jamii",), (), ("Maana",)),
  "te": Language(("బొమ్మ", "దస్త్రం", "ఫైలు"), ("వర్గం",), ("వికీపీడియా",), ("అయోమయ నివృత్తి",)),
  "th": Language(("ภาพ", "ไฟล์"), ("หมวดหมู่",), ("วิกิพีเดีย",), ("แก้กำกวม", "แก้ความกำกวม")),
  "tr": Language(
    ("Resim", "Dosya"), ("Kategori",), ("VP",), ("Anlam ayrımı", "Anlam ayrım", "Anlamayrımı")
  ),
  "vi": Language(
    ("Hình", "Tập tin"), ("Thể loại",), ("WP",), ("Định hướng", "Trang định hướng", "Trang ĐH")
  ),
  "zh": Language(
    ("图像", "圖像", "文件", "檔案", "档案"),
    ("分类", "分類"),
    ("WP", "维基百科", "維基百科"),
    ("消歧义", "消歧義", "消歧义页", "消歧義頁", "人名消歧义", "人名消歧義", "Disamb"),
  ),
}

# Templates that describe a page in a line, in all languages and in one.
DESCRIPTIONS = (
  *("Short description", "Shortdescription", "Short-description", "Short desc", "Shortdesc"),
  "ShortDescription",
)
LOCAL_DESCRIPTIONS = {"ar": ("وصف قصير",), "bn": ("সংক্ষিপ্ত বিবরণ",), "hi": ("संक्षिप्त विवरण",)}
LOCAL_DESCRIPTIONS |= {"ko": ("짧은 설명",), "tr": ("Kısa açıklama",), "vi": ("Mô tả ngắn",)}
LOCAL_DESCRIPTIONS |= {"zh": ("短描述",)}

# Parts of the names of templates that are a page's box of facts, in all languages and in one.
INFOBOXES = ("Infobox", "Taxobox")
LOCAL_INFOBOXES = {
  "ar": ("صندوق معلومات",),
  "bn": ("তথ্যছক",),
  "el": ("Πληροφορίες",),
  "en": (
    *("Speciesbox", "Subspeciesbox", "Chembox", "Drugbox", "Geobox", "Mycomorphbox", "Starbox"),
    "Hybridbox",
  ),
  "es": ("Ficha de",),
  "hi": ("ज्ञानसन्दूक",),
  "id": ("Kotak info",),
  "ja": ("基礎情報",),
  "ko": ("정보",),
  "pt": ("Info/",),
  "ru": ("Карточка",),
  "sv": ("Faktamall",),
  "th": ("กล่องข้อมูล",),
  "tr": ("bilgi kutusu",),
  "vi": ("Hộp thông tin", "Thông tin"),
  "zh": ("資訊框", "信息框"),
}

# Languages whose wikis write one word in several scripts as -{zh-hans:…; zh-hant:…}-.
WITH_VARIANTS = frozenset(
  ("crh", "gan", "iu", "kk", "ku", "sh", "shi", "sr", "tg", "uz", "wuu", "zh", "zh-classical")
)

# Languages whose capital of "i" is "İ".
DOTTED_I = frozenset(("az", "kaa", "tr"))

# Prefixes of Wikipedias: a link with one leads to the same subject in another language.
_LANGUAGE_PREFIXES = """
  aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb
  ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm
  bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq
  dsb dtp dty dv dz ee egl el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur
  fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr
  hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd
  kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn
  lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw
  mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nds nds-nl ne new ng nia nl nn no nov nqo
  nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt
  pwn qu rm rmy rn ro roa-rup roa-tara ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn
  si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet
  tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo
  vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-cn zh-min-nan zh-tw zh-yue
  zu
"""
LANGUAGE_PREFIXES = frozenset(_LANGUAGE_PREFIXES.split())

# Prefixes of other projects and of sites that MediaWiki's interwiki table knows.
_PROJECT_PREFIXES = """
  b betawikiversity c chapter commons d doi foundation f google incubator m mail mailarchive
  mediawikiwiki meta metawikipedia mw n oldwikisource otrs otrswiki outreach outreachwiki phab
  phabricator q quality rev s sep11 sourceforge species spcom strategy sulutil testwiki
  testwikidata ticket toolforge toollabs tools translatewiki v voy w wikibooks wikidata
  wikifunctions wikimania wikimedia wikinews wikipedia wikipediawikipedia wikiquote wikisource
  wikispecies wikitech wikiversity wikivoyage wikt wiktionary wmania wmf
"""
PROJECT_PREFIXES = frozenset(_PROJECT_PREFIXES.split())
