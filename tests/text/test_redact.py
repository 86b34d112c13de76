"""Secrets that must go, and what looks like one and must stay."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scaling import grows_at_most

from ringwood.text import echo as echo_module
from ringwood.text import key_formats as formats_module
from ringwood.text import redact as redact_module
from ringwood.text import told_secrets as told_module
from ringwood.text.redact import RULES, redact

# No key stands here whole: they are put together so that no scanner takes this file for a leak.
KEY = "a1B2c3D4e5F6g7H8i9J0" * 3
SECRETS = {
    "aws access key": ["AK" + "IA" + "Q3EXAMPLE7EXAMPL", "AS" + "IA" + "Q3EXAMPLE7EXAMPL"],
    "github token": ["gh" + "p_" + KEY[:36], "gh" + "s_" + KEY[:36], "github_" + "pat_" + KEY],
    "gitlab token": ["glp" + "at-" + KEY[:20], "glp" + "at-a-b_" + KEY[:20]],
    "slack token": ["xo" + "xb-1234567890-" + KEY[:24], "xo" + "xp-1234567890-" + KEY[:24]],
    "api key": ["s" + "k-" + KEY[:48], "s" + "k-ant-api03-" + KEY, "s" + "k-proj-" + KEY],
    "google api key": ["AI" + "za" + KEY[:35]],
    "huggingface token": ["h" + "f_" + KEY[:34]],
    "stripe key": [
        "sk" + "_live_" + KEY[:24],
        "rk" + "_test_" + KEY[:24],
        "wh" + "sec_" + KEY[:32],
    ],
    "google oauth secret": ["GOC" + "SPX-" + KEY[:28], "ya" + "29." + KEY],
    "npm token": ["np" + "m_" + KEY[:36]],
    "pypi token": ["py" + "pi-AgE" + KEY],
    "digitalocean token": ["do" + "p_v1_" + "0123456789abcdef" * 4],
    "sendgrid key": ["S" + "G." + KEY[:22] + "." + KEY[:43]],
    "twilio key": ["S" + "K" + "0123456789abcdef" * 2],
    "telegram token": ["123456789:" + "AA" + KEY[:33]],
    "discord token": ["MT" + "IzNDU2Nzg5MDEyMzQ1Njc4.G1a2b3." + KEY[:38]],
    "azure secret": ["abc8" + "Q~" + KEY[:34]],
    "aws secret key": [],
    "age key": ["AGE-SECRET" + "-KEY-1" + KEY[:58].upper()],
    "vault token": ["hv" + "s." + KEY],
    "databricks token": ["da" + "pi" + "0123456789abcdef" * 2],
    "shopify token": [f"shp{kind}_" + "0123456789abcdef" * 2 for kind in ("at", "ss", "ca", "pa")],
    "linear key": ["lin" + "_api_" + KEY[:40]],
    "notion token": ["nt" + "n_" + KEY[:46], "sec" + "ret_" + KEY[:43]],
    "mailgun key": ["ke" + "y-" + "0123456789abcdef" * 2],
    "service token": ["gs" + "k_" + KEY[:52], "xa" + "i-" + KEY, "dckr" + "_pat_" + KEY[:36]],
    "jwt": ["ey" + "JhbGciOiJI." + "ey" + "JzdWIiOiIx." + "s1g-n4tu_re"],
    "private key": [
        f"-----BEGIN {kind}PRIVATE KEY-----\n{KEY}\n{KEY}=\n-----END {kind}PRIVATE KEY-----"
        for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
    ],
}
PLACES = [
    "{}",
    "the key is {}.",
    "密钥是{}，不要外传",
    'x = "{}"',
    "export NAME={}\nnext line",
    "TOKEN={}",
    "password: '{}'",
    "密码：{}",
    r'{{"text":"first\n{}"}}',
    "({})",
    "<{}>",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SECRETS)
def test_a_key_goes_wherever_it_stands_and_its_surroundings_stay(kind: str, place: str) -> None:
    for secret in SECRETS[kind]:
        masked = place.format(f"[redacted: {kind}]")
        assert redact(place.format(secret)) == (masked, 1)


def test_a_key_block_that_was_cut_off_goes_as_far_as_it_goes() -> None:
    cut = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{KEY}\nAnd so it ended."
    assert redact(cut) == ("[redacted: private key]\nAnd so it ended.", 1)


def test_a_key_block_with_escaped_line_ends_goes() -> None:
    block = rf"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n"
    assert redact(block) == (r"[redacted: private key]\n", 1)


TOLD = {
    "credentials in url": "pg://bob:{}@db",
    "authorization header": "Authorization: Basic {}",
    "webhook url": "https://hooks.slack.com/services/{}",
    "secret": "password: {}",
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_the_words_around_it_tell_goes_under_its_kind(kind: str) -> None:
    secret = "Zq9xk2m4Zq9xk2m4Zq9xk2m4"
    assert redact(TOLD[kind].format(secret)) == (TOLD[kind].format(f"[redacted: {kind}]"), 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("pg://bob:hunter2@db:5432/x", "pg://bob:[redacted: credentials in url]@db:5432/x"),
        ("pg://bob:p@ss@w0rd@db/x", "pg://bob:[redacted: credentials in url]@db/x"),
        ("https://:p%40ss@example.com", "https://:[redacted: credentials in url]@example.com"),
        ("password: hunter2", "password: [redacted: secret]"),
        ("password='correct-horse'", "password='[redacted: secret]'"),
        ("DB_PASSWORD=correcthorse", "DB_PASSWORD=[redacted: secret]"),
        ("export API_KEY=abc123def456", "export API_KEY=[redacted: secret]"),
        ('{"api_key": "abc123def456"}', '{"api_key": "[redacted: secret]"}'),
        (r"{\"token\": \"abc123def456\"}", r"{\"token\": \"[redacted: secret]\"}"),
        ("https://a.example/?token=abc123def456", "https://a.example/?token=[redacted: secret]"),
        ("passwd=Pa$$w0rd!", "passwd=[redacted: secret]"),
        ("client_secret := Zq9#kk!x", "client_secret := [redacted: secret]"),
        ("my password: hunter2. Keep it.", "my password: [redacted: secret]. Keep it."),
        ("The password is: swordfish.", "The password is: [redacted: secret]."),
        ("my password is hunter2!", "my password is [redacted: secret]"),
        ("the password: correct horse", "the password: [redacted: secret]"),
        ("password: hunterpass", "password: [redacted: secret]"),
        ('password = "correct horse"', 'password = "[redacted: secret]"'),
        ("mysql -u root -phunter2 shop", "mysql -u root -p[redacted: secret] shop"),
        ("tool --password hunter2 --all", "tool --password [redacted: secret] --all"),
        ("machine a login b password c1d2e3", "machine a login b password [redacted: secret]"),
        ("<password>hunter2</password>", "<password>[redacted: secret]</password>"),
        ("口令：“芝麻开门”", "口令：“[redacted: secret]”"),
        ("密码是 abc123。", "密码是 [redacted: secret]。"),
        ("密码：hunter2", "密码：[redacted: secret]"),
        ("口令=opensesame", "口令=[redacted: secret]"),
        ("令牌：abc123def456，请保管", "令牌：[redacted: secret]，请保管"),
        ("数据库密码: “x9k2m4”", "数据库密码: “[redacted: secret]”"),
    ],
)
def test_what_is_assigned_goes_and_its_name_stays(text: str, masked: str) -> None:
    assert redact(text)[0] == masked


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://example.com:8080/a/@b?x=1#y",
        "ssh://git@example.com:22/x and git@example.com:org/repo.git",
        "postgres://bob:${DB_PASSWORD}@db/x",
        "password: str",
        "password: str = Field(min_length=8)",
        "def login(password: str, token: Optional[str] = None) -> None",
        "token = get_token()",
        "f(password=password, token=self.token)",
        "api_key=os.environ['API_KEY']",
        "token: ${{ secrets.TOKEN }}",
        "TOKEN=$(cat file)",
        "token: <your token here>",
        'api_key = "YOUR_API_KEY"',
        '"password": "string"',
        "the password for my account on staging is stored in the vault",
        "login page: password field1",
        "the password is sha256-hashed",
        "use the --password flag, --token 4096 tokens",
        "password: ********",
        "mysql -h 1.2.3.4 --port 3306",
        "忘记密码 email1234 怎么办",
        "密码是 SHA256 加密的，密码：8-16 位",
        "the password is stored hashed",
        "Password: must be long",
        "secret: see the vault",
        "max_tokens = 4096 and tokens: 123456",
        "tokenizer: bert-base-uncased-v2",
        "if token == expected_token1:",
        "token: https://example.com/docs/v1",
        "sk-learn-based-approach-to-things",
        "a key begins with AKIA, a token with ghp_ or glpat-",
        "the file begins with -----BEGIN RSA PRIVATE KEY----- and goes on",
        "密码：必须加密保存",
        "令牌：token-bucket 算法",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == (text, 0)


def test_every_secret_of_a_text_goes_and_is_counted() -> None:
    secrets = [secret for group in SECRETS.values() for secret in group]
    text, count = redact("\n".join(secrets))
    assert count == len(secrets)
    assert not [secret for secret in secrets if secret in text]


def test_a_secret_within_what_tells_of_another_goes_too() -> None:
    [npm], [twilio] = SECRETS["npm token"], SECRETS["twilio key"]
    text = f"mysql --token {npm} -phunter2, and the password for {twilio} is hunter3"
    masked = (
        "mysql --token [redacted: npm token] -p[redacted: secret], and the password"
        " for [redacted: twilio key] is [redacted: secret]"
    )
    assert redact(text) == (masked, 4)


FRAGMENTS = [secret for group in SECRETS.values() for secret in group] + [
    *("password", "token", "secret", "api_key", "密码", "=", ": ", "：", "://u:", "@", '"', "'"),
    *(" ", "\n", "\\n", ".", "-", "_", "a", "x9", "[", "]", "[redacted: secret]", "hunter22"),
    *("passphrase", "pwd", "密钥", "令牌", "口令", " is ", "是", "**", "`", "--password ", "-p"),
    *("mysql ", "curl -u a:", "machine a login b password ", "Authorization: Bearer ", "aws"),
    *("correct horse", "required", "。", "\t", ";", "=>", "<password>", "</", "_KEY=", "TOKEN"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "(", "$", "<", "&", "\\"),
]


@settings(deadline=None)  # compiling a rule takes its time, once
@given(st.lists(st.sampled_from(FRAGMENTS)).map("".join))
def test_masking_what_is_masked_changes_nothing(text: str) -> None:
    masked, _ = redact(text)
    assert redact(masked) == (masked, 0)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_taken(text: str) -> None:
    masked, count = redact(text)
    assert count or masked == text


TRIGGERS = [
    *("-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n", "-----", "://a:"),
    *(
        "://",
        ":",
        "AKIA",
        "ghp_",
        "ghp_a",
        "://a:@",
        "@",
        "github_pat_",
        "glpat-",
        "glpat-a ",
        "xoxb-",
        "sk-",
    ),
    *("=sk-", "AIza", "hf_", "eyJ", "eyJaaaaaaaa.", "password:", "password=", "token=<"),
    *("token='", 'token="a ', "密码：", "token", "key = ", "token=!", "token=a.", "token=a-"),
    *("password: a ", "password: abcd ", 'password="a ', "password for ", "password is ", "pass "),
    *(
        "password)",
        "password: x ",
        "--password ",
        "--a-",
        "mysql ",
        "mysql -p",
        "curl -u ",
        "curl ",
    ),
    *("machine ", "machine a login b ", "Authorization: ", "bearer ", "<a", "<password>", "_KEY="),
    *(
        "A_KEY=",
        "SG.",
        "SG.aaaaaaaaaaaaaaaaaaaaaa",
        "1",
        "1:AA",
        "bot1",
        "hooks.slack.com/services/",
    ),
    *(
        "AccountKey=",
        "MTaa.",
        "aws aA0",
        "aA0/",
        "令牌是",
        "密码“",
        "gho_",
        "xoxb-a",
        "sk_live_",
        "\\n",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_time_grows_with_the_length_of_hostile_text_and_not_with_its_square(trigger: str) -> None:
    def run(length: int) -> None:
        redact(trigger * (length // len(trigger)) + " password key token ----- :// AKIA bot")

    assert grows_at_most(run, 125_000, 1_000_000, times=24)  # a square would be 64


def test_every_rule_is_tested_under_its_name() -> None:
    tested = SECRETS.keys() | TOLD.keys()
    assert {name for name, _, _ in RULES} == tested


OWN = {f"ringwood.{name}" for name in ("names", "text.key_formats", "text.told_secrets")}


@pytest.mark.parametrize("module", [redact_module, formats_module, told_module, echo_module])
def test_a_hook_pays_for_the_standard_library_only(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"__future__", "collections.abc", "functools", "re", *OWN}
