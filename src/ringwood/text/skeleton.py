"""What a text looks like to a reader who is easily deceived.

A skeleton is the text with its entities decoded, invisible characters dropped, compatibility forms
and look-alikes folded, and case folded. Two strings with one skeleton can be taken for each other.
It is compared, never shown. Some marks share one letter there: `i`, `l` and `1` are `l`, `o` and
`0` are `o`, `u` and `y` are `u`, every hyphen and underscore is `-`.
"""

from __future__ import annotations

import html
import unicodedata

import regex

from ringwood.types import Span

# One hyphen in each row is what the rest of the row is taken for.
_LOOK_ALIKE_MARKS = {
    "<": "«‹≤≦≨≪≮≰≲≴≶≷≸≹⋖⋘⋚⋛⋜⋦〈⍃❬❮❰⟨⟪⥶⥷⦑⦓⦖⧀⧼⩹⩻⩽⩿⪁⪃⪅"
    "⪇⪉⪋⪌⪍⪏⪐⪑⪒⪓⪔⪕⪗⪙⪛⪝⪟⪡⪣⪤⪥⪦⪨⫷⫹〈《︽︿﹤＜˂ᐸᑉᚲ𝈶≺◁◂◃◄⊲",
    ">": "»›≥≧≩≫≯≱≳≵⋗⋙⋝⋧〉⍄⍩❭❯❱⟩⟫⥸⦒⦔⦕⧁⧽⩺⩼⩾⪀⪂⪄⪆⪈⪊⪎⪖⪘⪚⪜⪞⪠⪢⪧⪩⫸⫺⭃〉》︾﹀﹥＞˃ᐳᐅ𖼿𝈷≻▷▸▹►⊳",
    "[": "⁅❲⟦⟬⦋⦍⦏⦗「『【〔〖〘〚﹁﹃﹇﹝［｢",
    "]": "⁆❳⟧⟭⦌⦎⦐⦘」』】〕〗〙〛﹂﹄﹈﹞］｣",
    "/": "⁄∕⟋╱⧸⫽／〳᜵⁁𝈺㇓Ⳇⳇノ丿⼃",
    "|": "¦ǀ∣│┃║❘❙❚⏐￨｜‖∥",
    "-": "_Ⲻⲻ‐‑‒–—―−⁃˗֊־᐀᠆⁒⁓⁻₋∖∸⊖⊝⊟❖➖⸗⸚⸺⸻⹀⹝〜〰゠︱︲﹘﹣－ー▁＿‗·・.",
    ":": "：︰﹕꞉∶ː׃܃⁚ःઃ։᛬᠃᠉˸ꓽ",
    "#": "＃﹟♯",
    " ": "\u2800",
}
# Letters without a decomposition that tells: strokes, hooks and small capitals of Latin, and what
# Greek, Cyrillic, Armenian, Cherokee, Coptic and Lisu have of the same shape. Case folded.
_LOOK_ALIKE_LETTERS = {
    "a": "ɐɑɒαаᎪᴀᶏẚⱥⲁꓮ🅐🅰⍺ᗅ𖽀𐊠",
    "b": "ƀƃɓʙβвьҍᏴᴃᵬᶀꓐꞗ🅑🅱ƅᏏᑲᖯꞵᗷ𐊂𐊡𐌁",
    "c": "ƈȼɕʗϲсᏟᴄↄⲥꓚꜿꞓꞔ𝼏𝼝🅒🅲𐐽🝌𑣲𑣩Ϲ𐊢𐌂𐔜",
    "d": "đƌȡɖɗԁժᏧᴅᵭᶁᶑꓒꝺꟈ🅓🅳ᑯᎠᗞᗪꓓ",
    "e": "ǝɇɘɛɜɝɞʚεеєҽҿᎬᴇᴈᶒᶓᶔⱸⱻⲉꓰꬳꬴ🅔🅴℮ꬲ⋿ⴹ𑣆𑣎𐊆",
    "f": "ƒϝքᵮᶂꓝꜰꝼꞙ🅕🅵",
    "g": "ǥɠɡɢʛԍցᏀᵷᵹᶃꓖꝿꞡꟑꬶ𝼁𝼂🅖🅶ƍᏳ",
    "h": "ħɥɦʜʮʯнһհᎻⱨⱶⲏꓧꞕꟶ🅗🅷Ꮒᕼ𐋏",
    "i": "ıɨɪιіӏᎥᴉᶖⲓꓲ𝼚🅘🅸˛⍳ɩͺꙇ𑣃",
    "j": "ȷɉɟʄʝϳјյᎫᴊꓙ🅙🅹ᒍ",
    "k": "ƙʞκкᏦᴋᶄⱪⲕꓗꝁꝃꝅꞣ𝼃𝼐🅚🅺ᛕ𐔘",
    "l": "ŀłƚȴɫɬɭʟլᏞᴌᶅⱡⳑꓡꝉꞁꞎꬷꬸꬹ𝼄𝼑𝼓🅛🅻⏽۱𐌠ⵏᛁ𖼨𐊊𐌉𝈪ᒪ𖼖𑣒𐑃𐔦",
    "m": "ɯɰɱμϻмᎷᴍᴟᵯᶆⲙꓟꟺꬺ🅜🅼ᗰᛖ𐊰𐌑",
    "n": "ƞȵɲɳɴηпոᴎᵰᶇⲛꓠꞑꞥꬻ🅝🅽ռ𐔓",
    "o": "øǿɔɵοσоօᴏᴐᴑᴒᴓᶗⱺⲟꓳꝋꝍꬿ𝼛🅞🅾ంಂംං०੦૦௦౦೦൦๐໐၀۵ꬽჿഠဝ𐓪𑣈𑣗𐐬০୦〇𑓐𑣠ⵔዐଠ𑣕𐊒𐊫𐔖",
    "p": "ƥρрᏢᴘᵱᵽᶈⲣꓑꝑꝓꝕ🅟🅿⍴ᑭ𐊕",
    "q": "ɋʠԛգզꝗꝙꞯ🅠🆀ⵕ",
    "r": "ɍɹɺɻɼɽɾɿʀгᎡᏒᴙᴚᵲᵳᶉⱹⲅꓣꝛꞃꞧꭆꭇꭉꭋꭌꭨ𝼈𝼕𝼖🅡🆁ꭈᴦᎱ𝈖𐓜ᖇ𖼵",
    "s": "ȿʂѕտᏚᵴᶊẜẝꓢꜱꞅꞩꟊ𝼞🅢🆂ƽ𑣁𐑈Ꮥ𖼺𐊖",
    "t": "ŧƫƭȶʇʈτтᎢᴛᵵⱦⲧꓔꞇ𝼉𝼍🅣🆃⊤⟙🝨𖼊𐊗𐊱𐌕",
    "u": "ʋυцսᴜᴝᶙꓴꞹꭎꭒ🅤🆄ꞟ𐓶𑣘∪⋃ሀᑌ𖽂",
    "v": "ʌνѵᏙᴠỽⱱⱴꓦꝟ🅥🆅∨⋁𑜆𑣀𝈍۷ⴸᐯꛟ𖼈𐔝",
    "w": "ʍωшԝաᎳᴡⱳꓪ🅦🆆ѡ𑜊𑜎𑜏𑣯𑣦Ꮤ",
    "x": "χхᶍⲭꓫꭖꭗꭘꭙ🅧🆇᙮×⤫⤬⨯ᕁᕽ᙭╳𐌢𑣬ꭓⵝᚷ𐊐𐊴𐌗𐔧",
    "y": "ƴɏʎʏγуүᎩỿⲩꓬꭚ𝼆🅨🆈ɣᶌყᎽ𖽃𑣄𐊲𑣜",
    "z": "ƶȥɀʐʑζᏃᴢᵶᶎⱬⲍꓜ🅩🆉𐋵𑣥𑣉",
}
# Capitals that look like another letter than their small form does.
_LOOK_ALIKE_CAPITALS = {"h": "Η", "n": "Ν", "t": "𑢼"}
_MERGED = {"i": "l", "1": "l", "0": "o", "y": "u"}

_TAKEN_FOR = {
    ord(other): _MERGED.get(plain, plain)
    for table in (_LOOK_ALIKE_MARKS, _LOOK_ALIKE_LETTERS, _MERGED)
    for plain, others in table.items()
    for other in ((plain,) if table is _MERGED else others)
}
_CAPITALS = {ord(other): plain for plain, other in _LOOK_ALIKE_CAPITALS.items()}
_UNSEEN = regex.compile(r"[\p{M}\p{C}\p{Default_Ignorable_Code_Point}--[\n\t]]", regex.V1)

_ENTITY = regex.compile(r"&(?:\#[xX]?[0-9a-fA-F]++|[A-Za-z][A-Za-z0-9]{1,31}+);?")
_HIDDEN_ENTITY = regex.compile(r"[&＆﹠](?=[\p{M}\p{C}]*+[#＃﹟\p{L}])")
_MAX_ROUNDS = 12


class _Plain(dict[int, str]):
    """Characters without marks and compatibility forms; a table that fills as they occur.

    What the tables know is left to them: some decompose into what they are not taken for.
    """

    def __missing__(self, code: int) -> str:
        plain = chr(code)
        if code not in _TAKEN_FOR:
            plain = _UNSEEN.sub("", unicodedata.normalize("NFKD", plain))
        self[code] = plain
        return plain


class _Folded(dict[int, str]):
    """Plain characters as what they are taken for; a table that fills as they occur."""

    def __missing__(self, code: int) -> str:
        folded = (_CAPITALS.get(code) or chr(code).casefold()).translate(_TAKEN_FOR)
        if folded.isspace() and folded != "\n":
            folded = " "
        self[code] = folded
        return folded


_plain = _Plain()
_folded = _Folded()


def fold(text: str) -> str:
    """Fold a text without decoding its entities: what each character of it is taken for."""
    return text.translate(_plain).translate(_folded)


def decoded(text: str) -> str | None:
    """Decode entities, one layer at a time, until none is left.

    Returns None for what no honest writer nests: more than a dozen layers.
    """
    for _ in range(_MAX_ROUNDS):
        further = _ENTITY.sub(_decode, text)
        if further == text:
            return text
        text = further
    return None


def break_entities(text: str) -> str:
    """Return a text in which nothing can be decoded: `+lt;` for `&lt;`.

    Marks between the letters of an entity do not save it.
    """
    return _HIDDEN_ENTITY.sub("+", text)


def skeleton(text: str) -> str | None:
    """Return the skeleton of a text; None where `decoded` returns None."""
    for _ in range(_MAX_ROUNDS):
        further = _ENTITY.sub(_decode, text.translate(_plain))
        if further == text:
            return text.translate(_folded)
        text = further
    return None


def traced(text: str) -> tuple[str, list[Span]]:
    """Return the skeleton of a text and, for each character of it, where in the text it stems from.

    The same as `skeleton`, at a hundred times the cost. Spans are in order; characters of one
    entity share a span.
    """
    units = _spread([(character, (i, i + 1)) for i, character in enumerate(text)], _plain)
    for _ in range(_MAX_ROUNDS):
        plain = "".join(character for character, _ in units)
        further: list[tuple[str, Span]] = []
        kept = 0
        for entity in _ENTITY.finditer(plain):
            start, end = entity.span()
            span = (units[start][1][0], units[end - 1][1][1])
            further += units[kept:start]
            further += [(character, span) for character in _decode(entity)]
            kept = end
        further += units[kept:]
        if "".join(character for character, _ in further) == plain:
            break
        units = _spread(further, _plain)
    units = _spread(units, _folded)
    return "".join(character for character, _ in units), [span for _, span in units]


def _decode(entity: regex.Match[str]) -> str:
    return html.unescape(entity[0])


def _spread(units: list[tuple[str, Span]], table: dict[int, str]) -> list[tuple[str, Span]]:
    return [(other, span) for character, span in units for other in table[ord(character)]]
