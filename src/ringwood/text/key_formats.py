"""Keys that have a shape of their own: facts about public formats. On a hook's path.

A row is the name that the mask gives; hints, one of which occurs in every text that holds such a
key (one in small letters stands for any case); and a pattern.
"""

Rule = tuple[str, tuple[str, ...], str]

# A key takes the rest of its run with it; five hyphens are the edge of a private key.
_ANY = r"(?:[A-Za-z0-9_]|-(?!----))"
_END = r"(?![A-Za-z0-9])"

KEYS: tuple[Rule, ...] = (
    ("aws access key", ("akia", "asia"), rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}{_END}"),
    ("github token", ("gh",), rf"gh[opsur]_[A-Za-z0-9]{{36,}}+{_ANY}*+"),
    ("github token", ("github_pat_",), rf"github_pat_[A-Za-z0-9_]{{40,}}+{_ANY}*+"),
    (
        "gitlab token",
        ("glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-"),
        rf"gl(?:pat|rt|dt|cbt|ptt|ft|soat|imt|agent)-{_ANY}{{20,}}+"
        rf"(?:(?:\.[0-9a-z]{{2}})?\.[0-9a-z]{{9}}{_END})?",
    ),
    ("slack token", ("xox", "xapp-"), rf"(?:xoxe\.)?(?:xox[abdeoprs]|xapp)-{_ANY}{{10,}}+"),
    ("stripe key", ("_live_", "_test_"), rf"[rs]k_(?:live|test)_{_ANY}{{16,}}+"),
    ("stripe key", ("whsec_",), rf"whsec_(?:[+/]|{_ANY}){{24,}}+=*+"),
    ("api key", ("sk-",), rf"sk-(?=[A-Za-z_-]*+[0-9]){_ANY}{{20,}}+"),
    ("google api key", ("aiza",), rf"AIza{_ANY}{{35,}}+"),
    ("google oauth secret", ("gocspx-", "ya29."), rf"(?:GOCSPX-|ya29\.){_ANY}{{20,}}+"),
    ("huggingface token", ("hf_",), rf"hf_[A-Za-z0-9]{{30,}}+{_ANY}*+"),
    ("npm token", ("npm_",), rf"npm_[A-Za-z0-9]{{36,}}+{_ANY}*+"),
    ("pypi token", ("pypi-age",), rf"pypi-AgE{_ANY}{{40,}}+"),
    ("digitalocean token", ("_v1_",), rf"do[opr]_v1_[a-f0-9]{{40,}}+{_ANY}*+"),
    ("sendgrid key", ("sg.",), rf"SG\.{_ANY}{{16,40}}+\.{_ANY}{{30,}}+"),
    ("twilio key", ("SK",), rf"SK[a-f0-9]{{32}}{_END}"),
    ("telegram token", (":aa",), rf"[0-9]{{8,10}}:AA{_ANY}{{33,}}+"),
    (  # begins with a number in base64
        "discord token",
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        rf"[MNO][DTjz]{_ANY}{{20,28}}+\.{_ANY}{{6}}\.{_ANY}{{27,}}+",
    ),
    (
        "azure secret",
        ("q~",),
        r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.]{30,33}[A-Za-z0-9_~](?![A-Za-z0-9_~])",
    ),
    ("jwt", ("eyj",), rf"eyJ{_ANY}{{8,}}+\.eyJ{_ANY}{{8,}}+\.{_ANY}*+"),
    ("age key", ("age-secret-key-1",), rf"AGE-SECRET-KEY-1[A-Z0-9]{{50,}}+{_ANY}*+"),
    ("vault token", ("hvs.", "hvb.", "hvr."), rf"hv[bsr]\.{_ANY}{{20,}}+"),
    ("databricks token", ("dapi",), rf"dapi[a-f0-9]{{32}}(?:-[0-9])?{_END}"),
    ("shopify token", ("shpat_", "shpss_", "shpca_", "shppa_"), rf"shp[acps][ast]_{_ANY}{{32,}}+"),
    ("linear key", ("lin_api_",), rf"lin_api_{_ANY}{{32,}}+"),
    ("notion token", ("ntn_", "secret_"), rf"(?:ntn|secret)_[A-Za-z0-9]{{40,}}+{_ANY}*+"),
    ("mailgun key", ("key-",), rf"key-[a-f0-9]{{32}}{_END}"),
    *(  # makers whose keys are a prefix and a run
        ("service token", (prefix.lower(),), rf"{prefix}(?=[A-Za-z_-]*+[0-9]){_ANY}{{24,}}+")
        for prefix in (
            *("ATATT3", "NRAK-", "PMAK-", "dckr_pat_", "figd_", "glsa_", "gsk_", "lsv2_", "nvapi-"),
            *("pplx-", "r8_", "rubygems_", "sbp_", "sntrys_", "tskey-", "tvly-", "xai-"),
        )
    ),
)
"""Keys that are one run of characters: the pattern is the whole key and has no group."""

# A key begins at the edge of a run, or after an escape ("\nghp_..." in raw JSON, "%3Dghp_..." in an
# address). A row of crosses in it stands in a manual.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F])|(?<=-----))"
_REAL = r"(?![A-Za-z0-9_-]{0,24}?(?:[xX]{8}|\*{3}))"

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-\[]|-(?!----)){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{40,}+)++)"  # cut off before its end
)

SHAPED: tuple[Rule, ...] = (
    ("private key", ("private key",), f"({_PRIVATE_KEY})"),
    (
        "webhook url",
        ("hooks.slack.com/", "/api/webhooks/"),
        r"(?:hooks\.slack\.com/[a-z]{4,12}/|discord(?:app)?\.com/api/webhooks/)"
        rf"((?:/|{_ANY}){{20,}}+)",
    ),
    (
        "azure secret",
        ("accountkey=", "sharedaccesskey=", "sig="),
        r"(?:(?:Account|SharedAccess)Key=|[?&]sig=)([A-Za-z0-9+/%]{40,}+={0,2}+)",
    ),
    ("telegram token", ("bot",), rf"(?<=bot)([0-9]{{8,10}}:AA{_ANY}{{33,}}+)"),  # in an address
    *((name, hints, f"{_START}{_REAL}({pattern})") for name, hints, pattern in KEYS),
    (  # forty characters of base64 and nothing more: only beside its access key
        "aws secret key",
        ("akia", "asia", "aws"),
        r"(?:(?<![A-Za-z0-9+/=_.-])|(?<=\\[nrt])|(?<=-----))"
        r"(?=[a-z0-9+/]*+[A-Z])(?=[A-Z0-9+/]*+[a-z])(?=[A-Za-z+/]*+[0-9])"
        r"([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=_]|-(?!----))",
    ),
)
"""The same and a few more as rules of `redact`: exactly one group, the secret."""
