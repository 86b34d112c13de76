"""Secrets without a shape of their own, told by the words around them. On a hook's path.

A password is whatever follows "password": in an assignment, a command, a header, an address or a
sentence. What keeps documentation, code and templates whole is the other half of this module: what
a secret is not.
"""

from __future__ import annotations

from ringwood.text.key_formats import Rule

# -- how it is called ------------------------------------------------------------------------------

_PASS = (
    r"(?:(?i:passwor[dt]|passwd|passphrase|passcode|(?<![a-z])(?:pass|pwd|pw))"
    r"|(?<=[a-z])(?:Pass|Pwd))"
)
_PASS_HINTS = ("passw", "passp", "passc", "pass:", "pass=", "pass'", 'pass"', "pass ", "pwd", "pw")
_KEY = (
    r"(?i:secret|token|credential|(?:api|access|secret|private|auth|account|signing|encryption"
    r"|master|client|service)[ _-]?key)"
)
_KEY_HINTS = ("secret", "token", "credential", "key")

# -- what stands between the name and the value ----------------------------------------------------

_MARKS = r"(?:(?:\\?[\"'`*)]){1,3}+\]?)?+"  # of Markdown, of a subscript, of raw JSON
_TYPE = r"(?:: ?[\w.\[\]|]{1,30}+ )?"
_STARS = r"(?:\*\*)?[ \t]?"
_COLON = rf"{_MARKS}[ \t]{{0,8}}[:：][ \t]{{0,8}}{_STARS}"
_ASSIGN = rf"{_MARKS}[ \t]{{0,8}}(?:=>|:=|[:=：＝])[ \t]{{0,8}}{_STARS}"
# "password for the router is …", "passphrase was …", "token 是…"
_FILLER = r"(?: (?:for|of|to|on|at|in|here)\b[^\n.:=]{0,40}?)?"
_IS = rf"{_MARKS}[ \t]{{0,2}}(?:\b(?:is|was|to|as)[ \t:]|[是为][：:]?){_STARS}"
_QUOTE = r"\\?[\"'`“‘「]"
_UNQUOTE = r"\\?[\"'`”’」]"

# -- what a value is -------------------------------------------------------------------------------

# One run of characters without white space, brackets and quotes; of raw JSON no escape. Quotes say
# themselves where a value ends.
_CHAR = r"(?:[!#-%&*+\--:=?-Z^_a-z|~]|\\(?![nrtu\"'`]))"
_RUN = rf"{_CHAR}{{4,}}(?<![.:?\\])"
_QUOTED = r"[!#-&(-Z\]-_a-~]"
_CLAUSE_END = r"(?=[.;!。；！，、]?[ \t]*(?:$|[\n\\]))"

# -- what is none ----------------------------------------------------------------------------------

# `${TOKEN}`, `<token>`, an address, a row of crosses, `!env X`, `/run/secrets/db`
_REFERENCE = (
    r"-----|\$[{(A-Z_]|\$[a-z_]++(?![\w$])|[<{%\[]|https?:|(?:sk-)?[xX*.•]{3}|\#\#|(?i:your[-_ ])"
    r"|!(?i:env|secret|ref|sub|vault)|\.{0,2}~?/[\w.-]+/"
)
# `get_token()`, `env["TOKEN"]`, `Option<String>`
_CODE = r"[&*]?(?:mut )?[A-Za-z_$][\w.$!?]*+[(\[{<]"
# `string`, `null`, `required`: what documentation and types have in place of a value
_KIND = (
    r"[&*]?(?i:string|str|text|number|int|integer|bool|boolean|bytes|buffer|object|any|null|none"
    r"|nil|undefined|true|false|required|optional|hidden|password|passwd|secret|token|bearer)"
    r"(?![A-Za-z0-9_-])"
)
_ALGORITHM = (
    r"(?i:(?:sha|md|aes|rsa|hs|rs|es|utf|base)[-_]?[0-9]+|argon2|bcrypt|scrypt|pbkdf2|hmac|oauth)"
    r"(?:[^0-9A-Za-z]|[a-z]{1,3}\b|$)"
)
_NO_SECRET = rf"(?!{_REFERENCE}|{_CODE}|{_KIND}|{_ALGORITHM})"
# Beside prose a secret has a digit or a sign. A dotted name, a number and an amount are none.
_NO_PROSE = rf"(?![A-Za-z_./-]*+(?!{_CHAR}))"
_NO_NAME = rf"(?![A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++(?!{_CHAR}))"
_NO_NUMBER = rf"(?![0-9.,]++(?!{_CHAR}))"
_UNIT = (
    r"(?:char|bit|byte|digit|letter|word|min|hour|day|week|month|year|time|sec|token|line|or|and|to"
    r"|at|in|per|for|of|long)"
)
_NO_AMOUNT = rf"(?![0-9][0-9.,~～–-]*+(?:[ \t]+{_UNIT}|[ \t]*[位个字到至天次分条行秒年月%]))"
_VALUE = rf"{_NO_SECRET}{_NO_AMOUNT}{_NO_PROSE}{_NO_NAME}"
_DIGIT = r"(?=[A-Za-z_+/.=-]*+[0-9])"
_STATE = r"(?i:correct|private|public|visible)\b"
_ALONE = rf"{_NO_SECRET}(?={_CHAR}{{6,}}+(?:[\s\"';&`]|$))"  # as a shell or a connection has it

# Words of sentences about passwords, one of which nearly every such sentence has.
_STOP = (
    r"(?:a|about|above|after|all|also|an|and|any|are|as|at|be|before|below|blank|but|by|can|change"
    r"|changeme|char|chars|character|characters|check|credential|credentials|database|default"
    r"|different|do|does|email|empty|enter|error|field|file|for|from|has|hash|have|here|how|if|in"
    r"|incorrect|input|invalid|is|it|its|least|length|letters|like|login|lost|manager|max|min"
    r"|minimum|missing|more|most|must|name|needed|new|no|none|not|null|of|old|on|only|optional|or"
    r"|password|passwords|passphrase|plain|plaintext|please|policy|prompt|random|required|reset"
    r"|same|secret|secure|see|set|should|some|still|strength|string|strong|text|than|that|the|this"
    r"|to|token|too|try|type|unknown|until|unset|use|user|username|valid|value|via|was|weak|when"
    r"|where|which|will|with|wrong|yes|you|your|[a-z]{1,18}(?:ed|ing|ly|tion))(?![A-Za-z])"
)
_ADJACENT = rf"[ \t](?!{_STOP})(?=[^\s\d]*+\d){_NO_NUMBER}(?={_CHAR}{{6}})"
_WORDS = rf"(?: ?(?!{_STOP})[A-Za-z]{{3,20}}+(?![\w.-]*\w)){{1,8}}+"
_PHRASE = rf"(?: ?(?!{_STOP}){_QUOTED}{{1,40}}+){{1,8}}+"

_ZH_PASS = rf"(?:密码|口令){_MARKS}[ \t]{{0,4}}"
_ZH_COLON = r"[：:=][ \t]{0,4}"
_ZH_IS = r"已?经?(?:就?是|为|叫|[改设换][为成]|[设重]置[为成])[：:]?[ \t]{0,4}"
_ZH_END = r"(?=[，。；、！了,.;!\s]|$)"

_OPTION = r"(?:(?<!-)|(?<=-----))--(?:\w[\w-]{0,20}-)?"
# The first such option of a command.
_FIRST_P, _FIRST_A, _FIRST_U = (
    rf"\b(?:(?!{option})[^\n|;]){{0,120}}+{option}"
    for option in (r"\s-p", r"\s-a", r"\s(?:-u|--user)")
)

TOLD: tuple[Rule, ...] = (
    (
        "credentials in url",
        ("://",),
        r"://[^\s/:@\"'<>]{0,128}+:(?!\$[{A-Z_]|[<{%]|\*{3}|[xX]{3})"
        r"((?:[^\s/@\"'<>]|@(?=[^\s/@\"'<>]*+@))++)(?=@)",
    ),
    (
        "authorization header",
        ("authorization", "bearer "),
        r"(?i:authorization[\"']?\s{0,2}[:=]\s{0,2}f?[\"'`]?"
        r"(?:bearer|basic|token|api-?key|digest)|(?<![\w-])bearer(?=\s+[\w+/~.=-]{20}))"
        r"\s{1,2}(?!(?i:your|auth|token|xxx)|[A-Z_]+(?![\w+/~.=-]))"
        r"([A-Za-z0-9+/~._-]{8,}+=*+)",
    ),
    # -- commands
    (
        "secret",
        ("--",),
        rf"{_OPTION}{_PASS}[ \t]{{1,4}}(?!-)"
        rf"(?:{_VALUE}|{_NO_SECRET}(?=(?!{_STOP})[a-z]{{6,30}}+[ \t]*(?:-|$|[\\\n])))"
        rf"[\"']?({_RUN})",
    ),
    (
        "secret",
        ("--",),
        rf"{_OPTION}{_KEY}[ \t]{{1,4}}(?!-)[\"']?{_VALUE}{_NO_NUMBER}"
        rf"(?={_CHAR}{{8}})({_RUN})",
    ),
    (
        "secret",
        ("mysql", "mariadb", "sshpass", "docker login", "redis-cli", "curl"),
        rf"\b(?:(?:mysql\w{{0,10}}|mariadb){_FIRST_P}|sshpass\s{{1,3}}-p\s{{0,3}}"
        rf"|docker login{_FIRST_P}\s{{1,3}}|redis-cli{_FIRST_A}\s{{1,3}}"
        rf"|curl{_FIRST_U}\s{{0,3}}[\"']?[^\s:\"'/]{{1,64}}:)[\"']?"
        rf"(?!{_REFERENCE})({_RUN})",
    ),
    (
        "secret",
        ("login",),
        r"(?:machine\s{1,4}\S{1,128}+|default)\s{1,8}login\s{1,4}\S{1,64}+\s{1,8}"
        r"(?:account\s{1,4}\S{1,64}+\s{1,8})?password\s{1,4}"
        rf"(?!{_REFERENCE})({_RUN})",
    ),
    (
        "secret",
        ("_key=", "_pat=", "_auth=", "_dsn="),
        r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9_]{1,40}_(?:KEY|PAT|AUTH|DSN)=[\"']?"
        rf"{_VALUE}{_NO_NUMBER}(?={_CHAR}{{16}})({_RUN})",
    ),
    # -- assignments and sentences
    (
        "secret",
        _PASS_HINTS,
        rf"{_PASS}(?:{_TYPE}{_ASSIGN}|{_FILLER}{_IS}){_QUOTE}(?=[^\n]{{4}}){_NO_SECRET}({_PHRASE})"
        rf"(?={_UNQUOTE})",
    ),
    (
        "secret",
        _PASS_HINTS,
        rf"{_PASS}(?:=(?!=){_ALONE}|(?:{_ASSIGN}|{_FILLER}{_IS}|{_ADJACENT}){_VALUE})({_RUN})",
    ),
    (
        "secret",
        _PASS_HINTS,
        rf"{_PASS}(?:{_COLON}|{_FILLER}{_IS}(?!{_STATE}))(?!\s){_NO_SECRET}({_WORDS}){_CLAUSE_END}",
    ),
    (
        "secret",
        _KEY_HINTS,
        rf"{_KEY}{_TYPE}{_ASSIGN}{_QUOTE}{_VALUE}{_NO_NUMBER}({_QUOTED}{{8,}}+)(?={_UNQUOTE})",
    ),
    (
        "secret",
        _KEY_HINTS,
        rf"{_KEY}(?:=(?!=){_ALONE}|(?:{_ASSIGN}(?={_CHAR}{{8}})"
        rf"|(?:{_IS}{_QUOTE}?(?={_CHAR}{{12}})|[ \t](?=[A-Za-z0-9]{{20}})){_DIGIT})"
        rf"{_VALUE}{_NO_NUMBER})({_RUN})",
    ),
    (
        "secret",
        ("password>", "passwd>", "passphrase>", "pass>", "pwd>"),
        rf"<(?:[\w.-]{{1,40}}:)?[\w.-]{{0,40}}?{_PASS}>(?!{_REFERENCE}|{_KIND})([^<\s]{{4,}}+)(?=</)",
    ),
    # -- Chinese
    (
        "secret",
        ("密码", "口令"),
        rf"{_ZH_PASS}(?:{_ZH_COLON}|{_ZH_IS}){_STARS}[“「](?!必|请|不|密码|口令)"
        r"([^”」\n]{2,40}+)(?=[”」])",
    ),
    (
        "secret",
        ("密码", "口令"),
        rf"{_ZH_PASS}(?:{_ZH_COLON}|(?:{_ZH_IS}|[ \t](?!{_STOP}))"
        rf"(?:{_NO_PROSE}|(?=[a-z]{{4,}}+{_ZH_END}))){_STARS}{_QUOTE}?{_NO_SECRET}{_NO_AMOUNT}({_RUN})",
    ),
    (
        "secret",
        ("令牌", "密钥", "秘钥"),
        rf"(?:令牌|[密秘]钥){_MARKS}[ \t]{{0,4}}(?:{_ZH_COLON}|{_ZH_IS}){_QUOTE}?"
        rf"{_VALUE}{_NO_NUMBER}(?={_CHAR}{{6}})({_RUN})",
    ),
)
"""Rules of `redact`: exactly one group, the secret."""
