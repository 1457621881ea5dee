"""Strings that tokenizers tend to get wrong. Imported by fixtures.py."""
import random

SENTENCES = [
    "The ferry leaves at 06:45, doesn't it? We'll see; they've said 'never' before.",
    "It's John's book, I'M SURE WE'LL find he'd re-read what they're saying.",
    "Die Bäckerei öffnet übermorgen früh um halb sieben; Größe spielt keine Rolle.",
    "L'été dernier, nous avons mangé des crêpes à la crème brûlée près de l'église.",
    "El pingüino español comió piñas en el año más frío. ¿Por qué? ¡Porque sí!",
    "Zażółć gęślą jaźń, rzekł kot do chrząszcza w Szczebrzeszynie.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "İstanbul'da ılık bir gün; ığdır'ın ağaçları şimdi yeşil.",
    "Đường phố Hà Nội rất đông người vào buổi sáng.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Η γρήγορη αλεπού πηδά πάνω από τον τεμπέλη σκύλο. ΟΔΟΣ Σίσυφος",
    "השועל החום המהיר קופץ מעל הכלב העצלן. שָׁלוֹם",
    "الثعلب البني السريع يقفز فوق الكلب الكسول. مَرْحَبًا ١٢٣٤",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। १२३",
    "দ্রুত বাদামী শিয়াল অলস কুকুরের উপর লাফ দেয়।",
    "வேகமான பழுப்பு நரி சோம்பேறி நாயின் மேல் தாவுகிறது.",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ ๑๒๓",
    "ကြောင်တစ်ကောင်သည် အိပ်နေသည်။",
    "敏捷的棕色狐狸跳过了懒狗。今天是2024年11月5日,气温12.5℃。",
    "素早い茶色の狐がのろまな犬を飛び越える。カタカナとひらがな、ー々〆。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다. 한국어 테스트",
    "ሰላም ለዓለም። ꯃꯩꯇꯩ ꓡꓲꓢꓴ ᏣᎳᎩ ᚠᚢᚦᚨᚱᚲ",
    "𝕿𝖍𝖊 𝓺𝓾𝓲𝓬𝓴 ｆｕｌｌ ｗｉｄｔｈ ﬁﬂ Ⅷ ① ½ ² ₃ ㎏ ㏂ ℡",
]
CODE = [
    "func main() {\n\tfor i := range 10 {\n\t\tfmt.Println(i, \"x\\n\") // done\n\t}\n}\n",
    "def f(x: int = 3) -> str:\n    return f\"{x!r:>{10}}\"  # comment\n\n\nclass A(B):\n    pass\n",
    "const a = async (b) => { await c?.d ?? e; };\r\nlet s = `t${a}`;\r\n",
    "SELECT a.id, COUNT(*) FROM t AS a WHERE x >= 1e-5 AND y <> 'it''s' GROUP BY 1;",
    "<div class=\"a b\" id='c'>&nbsp;<br/>text</div><!-- note -->",
    "{\"key\": [1, 2.50, -3e+10, null, true], \"n\\u00e9\": \"\\\"q\\\"\"}",
    "https://example.org:8080/a/b%20c?d=e&f=g#h user@example.com C:\\dir\\file.txt ~/x/../y",
    "mov eax, [ebx+0x1F]\n\tjmp short .L1\n; 0xDEADBEEF 0b1010 0o777 1_000_000",
    "$x = \\frac{a_1}{b^2} \\leq \\sum_{i=0}^{n} \\alpha_i$ \\begin{align}",
    "aGVsbG8gd29ybGQhIHRoaXMgaXMgYmFzZTY0Li4uPT0= d41d8cd98f00b204e9800998ecf8427e",
    "iPhoneXSMax HTTPServerError camelCaseJSONParser snake_case_name SCREAMING_CASE XMLHttpRequest",
    "-----BEGIN-----\n+++ --- *** ### === ... ,,, !!! ??? /// \\\\\\ ||| &&& @@@\n",
]
SPACES = [
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\t\t \t", " \n ", "  \n\n  ", "a ", " a", "  a", "   a  b   c    ",
    "a\n", "a\n\n", "a \n b", "a  \n  b", "a\tb\t\tc", "\u00a0x\u00a0\u00a0y", "x\u2003\u2003y", "\u3000全角\u3000空白", "a\u200bb\u200cc\u200dd",
    "\ufeffbom", "a\u0085b", "x\u2028y\u2029z", "\x0b\x0c mixed \x0b", " \u00a0 \u2009 ", "tail   ", "\n \n \n", "a\r", "\r\r\na",
    "x\u1680y", "\u180e\u202f\u205f",
]
MARKS = [
    "e\u0301 e\u0300\u0323 e\u0323\u0300 o\u0308\u0304", "Z\u0351\u036b\u0343a\u0341\u0328l\u0334\u0321g\u0321o\u031b",
    "a" + "\u0301\u0323" * 20 + "b", "\u0301 leading mark", " \u0301mark after blank", "A\u0301BC\u0301d\u0301", "\u1e9b\u0323 \u212b \u2126",
    "각 각 각", "ก็ น้ำ", "क्षि क़", "1\u20e3 *\ufe0f\u20e3", "\u0344 \u0385 \u1fc1",
    "'\u017f it'\u017f 'S 'LL 'rE 's't're", "ſ ß ẞ ŉ ǆ ǅ Ǆ ﬀ ΐ", "\u07fd\u0334 \u0898\u0301 \U00010780 \u32ff",
    "'s 't 're 've 'm 'll 'd 'x ''s x's x'S x''", "’s don’t ‘q’ “r” … – — •",
]
EMOJI = [
    "😀 😃😄 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 🧑🏿‍🚀", "❤️❤ ☺️ ✔️ ⚠ ©®™", "a😀b 1😀2 😀\n😀  😀", "🫠🪿🫨🩷", "\U0001f1e6 \U0001f3fb \u200d",
]
CONTROL = [
    "\x00\x01\x02 nul", "del\x7fend", "\x1b[31mred\x1b[0m", "\ufffd\ufffd repl \ufffd", "\ufff9\ufffb \U000e0041\U000e007f", "\ue000\uf8ff \U0010fffd", "\u0378 \U0001ffff \U0002fffe",
]
NUMBERS = ["0", "12", "123", "1234", "12345678901234567890", "3.14159 1,234,567.89 -0.5e-10", "١٢٣٤٥ ४५६ ⅧⅨ ½¼ ²³ ①②③", "v1.2.3-rc.4+5", "2024-11-05T06:07:08.901Z", "1a2b3c 4D5E"]
RUNS = ["a" * 300, "ab" * 200, " " * 200, "\n" * 100, "=" * 150, "0" * 100, "é" * 100, "中" * 120, "😀" * 50, "Ab" * 100, "x y" * 100, "." * 77 + "\n" * 9, "A" * 64 + "a" * 64,
        "lorem" * 60, "-_" * 80, "\u0301" * 45, "a\u0301" * 40]


def block_strings(rng, count, length=12):
    """Random characters of one block of 128 code points each."""
    out = []
    for _ in range(count):
        base = rng.choice([rng.randrange(0, 0x3000), rng.randrange(0xA000, 0x11000), rng.randrange(0x10000, 0x20000), rng.randrange(0, 0x500)]) & ~127
        chars = []
        for _ in range(length):
            c = base + rng.randrange(128)
            chars.append(" " if 0xD800 <= c < 0xE000 else chr(c))
            if rng.random() < 0.2:
                chars.append(rng.choice([" ", "  ", "\n", "'s", "1", "a", "."]))
        out.append("".join(chars))
    return out


def mixed_strings(rng, count):
    """Fragments of everything else, glued together."""
    bits = [w for s in SENTENCES + CODE + MARKS + EMOJI for w in s.replace(" ", " \0").split("\0")] + SPACES[1:] + NUMBERS + list("'.,;:!?()[]{}<>/\\|@#$%^&*-_=+~`\"")
    return ["".join(rng.choice(bits) for _ in range(rng.randrange(1, 14))) for _ in range(count)]


def strings(seed=1, random_count=60):
    rng = random.Random(seed)
    fixed = SENTENCES + CODE + SPACES + MARKS + EMOJI + CONTROL + NUMBERS + RUNS
    return fixed + block_strings(rng, random_count) + mixed_strings(rng, random_count)
