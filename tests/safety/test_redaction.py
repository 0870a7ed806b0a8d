"""Secrets are found in every kind of text, and nothing else is."""

from __future__ import annotations

import base64
import random
import string
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from promises import promise
from reasoningbank.safety.secrets import PLACEHOLDER, Finding, Redacted, redact

ALPHANUMERIC = string.ascii_letters + string.digits
WORD = ALPHANUMERIC + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
RANDOM = random.Random(20_261_121)


def made(length: int, alphabet: str = ALPHANUMERIC) -> str:
    """Random characters, always with an upper, a lower case letter and a digit when the alphabet has them."""
    while True:
        text = "".join(RANDOM.choice(alphabet) for _ in range(length))
        wanted = (str.isupper, str.islower, str.isdigit)
        if all(any(map(test, text)) or not any(map(test, alphabet)) for test in wanted) and text[-1].isalnum():
            return text


TOKENS: dict[str, tuple[str, Callable[[], str]]] = {
    "aws access key": ("aws-access-key", lambda: "AK" + "IA" + made(16, UPPER)),
    "aws temporary key": ("aws-access-key", lambda: "AS" + "IA" + made(16, UPPER)),
    "github personal": ("github-token", lambda: "gh" + "p_" + made(36)),
    "github oauth": ("github-token", lambda: "gh" + "o_" + made(36)),
    "github server": ("github-token", lambda: "gh" + "s_" + made(36)),
    "github user": ("github-token", lambda: "gh" + "u_" + made(36)),
    "github refresh": ("github-token", lambda: "gh" + "r_" + made(36)),
    "github fine grained": ("github-token", lambda: "github" + "_pat_" + made(22) + "_" + made(59)),
    "gitlab personal": ("gitlab-token", lambda: "glp" + "at-" + made(20)),
    "gitlab runner": ("gitlab-token", lambda: "glr" + "t-" + made(20)),
    "slack bot": ("slack-token", lambda: "xo" + "xb-" + made(12, string.digits) + "-" + made(24)),
    "slack user": ("slack-token", lambda: "xo" + "xp-" + made(12, string.digits) + "-" + made(24)),
    "slack app": ("slack-token", lambda: "xa" + "pp-1-A" + made(10, UPPER) + "-" + made(64, HEX)),
    "stripe secret": ("stripe-key", lambda: "sk_" + "live_" + made(24)),
    "stripe restricted": ("stripe-key", lambda: "rk_" + "live_" + made(24)),
    "stripe webhook": ("stripe-webhook-secret", lambda: "whs" + "ec_" + made(32)),
    "jwt": ("jwt", lambda: "ey" + "J" + made(20, WORD) + ".ey" + "J" + made(40, WORD) + "." + made(43, WORD)),
    "openai": ("openai-key", lambda: "sk" + "-" + made(48)),
    "openai project": ("openai-key", lambda: "sk" + "-proj-" + made(120, WORD)),
    "openai service": ("openai-key", lambda: "sk" + "-svcacct-" + made(80, WORD)),
    "anthropic": ("anthropic-key", lambda: "sk" + "-ant-api03-" + made(93, WORD) + "AA"),
    "google api": ("google-api-key", lambda: "AI" + "za" + made(35, WORD)),
    "google oauth client": ("google-oauth-secret", lambda: "GOC" + "SPX-" + made(28, WORD)),
    "google oauth access": ("google-oauth-token", lambda: "ya" + "29." + made(100, WORD)),
    "azure client": ("azure-client-secret", lambda: made(3) + "8" + "Q~" + made(34)),
    "twilio api": ("twilio-api-key", lambda: "S" + "K" + made(32, HEX)),
    "sendgrid": ("sendgrid-key", lambda: "S" + "G." + made(22, WORD) + "." + made(43, WORD)),
    "npm": ("npm-token", lambda: "np" + "m_" + made(36)),
    "hugging face": ("huggingface-token", lambda: "h" + "f_" + made(34)),
    "pypi": ("pypi-token", lambda: "py" + "pi-AgEIcHlwaS5vcmc" + made(80, WORD)),
}
CONTEXTS: dict[str, str] = {
    "code": 'client = connect("{}")',
    "env": "SERVICE_VALUE={}",
    "yaml": "service:\n  value: {}\n  replicas: 2",
    "json": '{{"service": {{"value": "{}"}}}}',
    "escaped json": '{{\\"value\\": \\"{}\\"}}',
    "prose": "The first run failed because {}, which had leaked, was revoked.",
    "url": "https://api.example.com/v1/items?k={}&page=2",
    "log line": "2026-11-21T10:00:00Z INFO worker-3 got {} from the environment",
    "bare": "{}",
    "zero width inside": "use {0}",
    "line break inside": "use {0} now",
}
PASSWORDS = [
    "hun" + "ter2",
    "S3c" + "r3t!x",
    "corr" + "ect-horse9",
    "p@s" + "sw0rd",
    "Tr0ub" + "4dor",
]
PASSWORD_CONTEXTS: dict[str, str] = {
    "env": "password={}",
    "upper env": "DB_PASSWORD={}",
    "libpq env": "export PGPASSWORD={}",
    "yaml": "password: {}",
    "yaml quoted": "password: '{}'",
    "tight yaml": "password:{}",
    "code": 'password = "{}"',
    "camel case": "dbPassword: '{}'",
    "hash rocket": "password => '{}'",
    "walrus": 'password := "{}"',
    "setter": 'user.setPassword("{}")',
    "python dict": "{{'password': '{}'}}",
    "json": '{{"user": "app", "password": "{}"}}',
    "escaped json": '{{\\"password\\": \\"{}\\"}}',
    "short key": '"pass": "{}"',
    "smtp": "SMTP_PASS={}",
    "passwd": "passwd={}",
    "option": "tool --password {}",
    "option with sign": "tool --password={}",
    "query": "https://example.com/login?user=a&password={}&next=1",
    "ado": "Server=db;User Id=app;Password={};Encrypt=yes",
    "xml": "<password>{}</password>",
    "kubernetes": "- name: DB_PASSWORD\n  value: {}",
    "netrc": "machine example.com login app password {}",
    "sentence": "The password is `{}`.",
    "mysql": "mysql -uroot -p{} app",
    "curl": "curl -u admin:{} https://example.com",
    "postgres": "postgres://app:{}@db.example.com:5432/shop",
    "postgresql": "DATABASE_URL=postgresql+asyncpg://app:{}@db.example.com/shop",
    "mysql url": "mysql://app:{}@db.example.com/shop",
    "mongodb": "mongodb+srv://app:{}@db.example.com/shop",
    "redis": "redis://:{}@db.example.com:6379/0",
    "amqp": "amqps://app:{}@db.example.com/vhost",
    "https": "https://app:{}@example.com/path",
}
NAMES = (
    *("api_key", "apiKey", "API_KEY", "api-key", "X-Api-Key", "secret", "client_secret", "SECRET_KEY"),
    *("access_token", "auth_token", "refresh_token", "token", "secretAccessKey", "encryption_key"),
)
NAME_CONTEXTS = ("{}={}", "{}: {}", '{} = "{}"', '"{}": "{}"', "'{}' => '{}'", "https://example.com/?{}={}&x=1")
BENIGN = r"""
password=<your password>
password=${PASSWORD}
password = os.environ["X"]
password = getpass()
the password field must be validated before the hash is computed
token count = 500
max_tokens=4096, temperature=0.2
secret: see vault
Pin the commit 3f786850e387550fdab836ed7e6dc881de23001b before deploying
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
request id 123e4567-e89b-12d3-a456-426614174000 failed
api_key: str = Field(default="")
def login(user: str, password: str) -> Token:
connect(user=user, password=password)
client = Client(api_key=settings.api_key, token=self.token)
if password == confirm_password:
password: required
token: string
"password": {"type": "string", "minLength": 8}
password_hash = bcrypt.hashpw(password, salt)
Use argon2id for passwords; never md5. password: argon2id
tokenizer: cl100k_base
export API_KEY="$(vault read -field=key secret/app)"
password: !vault |
password: "{{ vault_db_password }}"
token: ${{ secrets.GITHUB_TOKEN }}
secretKeyRef: {name: db-creds, key: password}
POSTGRES_PASSWORD_FILE=/run/secrets/db_password
pwd=/home/user1/project
git clone https://github.com/org/repo.git
curl http://localhost:8080/api?x=1
npm install https://registry.example.com:4873/@scope/package
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
The bearer token is refreshed every 15 minutes
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Basic understanding of asyncio2 is needed
the JWT has three parts: header.payload.signature
keys starting with AKIA are access key ids, those with ghp_ are GitHub tokens, sk-ant- is Anthropic
-----BEGIN PUBLIC KEY-----
files with -----BEGIN PRIVATE KEY----- in the first line are refused
-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----
postgres://localhost:5432/app
postgres://user@localhost/app
postgres://user:${DB_PASSWORD}@localhost/app
redis://localhost:6379/0
input("Password: ")
print("password:", password)
log("password=" + pw + "!")
f"token={token}&page=2"
<input type="password" name="password">
error: password: incorrect
the tests pass: 104ms
cache_key=user_profile_v2
idempotency-key: order-2024-11-21
password must have 8 characters
sk-learn-contrib-something-package and sklearn sk-toggleable__label-arrow
credentials: "same-origin"
secret = secrets.token_hex(16)
token = response.json()["access_token"]
The password is stored as argon2id
the secret is to keep functions small
docker login -u user --password-stdin
password: ********
api_key=YOUR_API_KEY
api_key = "your-api-key-here"
ssh -p 2222 user@host
password: SecretStr
the password is base64 encoded; the password is sha256. The password is user2fa protected
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DCNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
self.token = nextchar
""".strip().split("\n")


@promise(
    "hygiene:tokens",
    "Keys and tokens of 30 provider formats become typed placeholders in code, env, YAML, JSON, prose, URLs and logs, "
    "also when an invisible character or a line break cuts them.",
    source="issue Hygiene; spec/contextd 3.5 (C)",
)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", TOKENS)
def test_every_provider_token_is_replaced_by_its_kind_in_every_context(name: str, context: str) -> None:
    kind, make = TOKENS[name]
    secret = make()
    cut = secret
    if context == "zero width inside":
        cut = secret[:11] + "\u200b" + secret[11:]
    if context == "line break inside":
        cut = secret[:14] + "\n    " + secret[14:]
    redacted = redact(CONTEXTS[context].format(cut))
    assert redacted.text == CONTEXTS[context].format(f"[REDACTED:{kind}]")
    assert redacted.findings == (Finding(kind, 1),)


@promise(
    "hygiene:passwords",
    "Passwords in assignments, options, queries and database URLs become placeholders; user, host and the rest of the "
    "line stay readable.",
    source="issue Hygiene",
)
@pytest.mark.parametrize("context", PASSWORD_CONTEXTS)
def test_passwords_are_replaced_and_the_rest_of_the_line_stays(context: str) -> None:
    template = PASSWORD_CONTEXTS[context]
    before, after = template.format("|").split("|")
    for password in PASSWORDS:
        redacted = redact(template.format(password))
        assert redacted.text.startswith(before) and redacted.text.endswith(after)
        assert PLACEHOLDER.fullmatch(redacted.text[len(before) : len(redacted.text) - len(after)])
        assert "password" in redacted.findings[0].kind


@promise(
    "hygiene:names",
    "The value given to a name such as api_key, client_secret or token is replaced, quoted or not.",
    source="issue Hygiene",
)
@pytest.mark.parametrize("template", NAME_CONTEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_values_of_names_of_secrets_are_replaced(name: str, template: str) -> None:
    for secret in (made(32), made(40, HEX), made(24, string.ascii_lowercase + string.digits)):
        redacted = redact(template.format(name, secret))
        assert secret not in redacted.text
        assert redacted.text.startswith(template.format(name, "|").split("|")[0])
        assert PLACEHOLDER.search(redacted.text)


def _key_body() -> list[str]:
    return [made(64, ALPHANUMERIC + "+/"), made(64, ALPHANUMERIC + "+/"), made(30)]


@promise(
    "hygiene:private-keys",
    "A private key is replaced whole, also when its BEGIN or END line is cut off or its line ends are written as \\n.",
    source="issue Hygiene; spec/contextd 3.5 (C: the body too)",
)
@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "DSA ", "ENCRYPTED "])
@pytest.mark.parametrize("separator", ["\n", "\\n", "\\\\n", "\r\n", " ", '\\n" +\n    "'])
def test_whole_private_keys_are_replaced(label: str, separator: str) -> None:
    body = _key_body()
    begin, end = f"-----BEGIN {label}PRIVATE " + "KEY-----", f"-----END {label}PRIVATE " + "KEY-----"
    whole = redact(f"before {separator.join([begin, *body, end])} after")
    assert whole.text == "before [REDACTED:private-key] after"
    cut_off = redact(f"before {separator.join([begin, *body])}\nmore text follows 2 lines")
    assert cut_off.text == "before [REDACTED:private-key]\nmore text follows 2 lines"
    headless = redact("before\n" + "\n".join([*body, end]) + "\nafter")
    assert headless.text == "before\n[REDACTED:private-key]\nafter"


@promise("hygiene:private-keys")
def test_service_accounts_lose_the_key_and_keep_the_rest() -> None:
    body = _key_body()
    key = "\\n".join(["-----BEGIN PRIVATE " + "KEY-----", *body, "-----END PRIVATE " + "KEY-----", ""])
    account = f'{{"type": "service_account", "project_id": "shop-1", "private_key": "{key}", "client_id": "1234"}}'
    redacted = redact(account)
    assert not any(line in redacted.text for line in body)
    assert '"project_id": "shop-1"' in redacted.text
    assert '"client_id": "1234"' in redacted.text


@promise("hygiene:tokens")
def test_secrets_that_need_their_surroundings() -> None:
    forty = made(40, ALPHANUMERIC + "/+")
    thirty_two = made(32, HEX)
    account = "A" + "C" + made(32, HEX)
    basic = base64.b64encode(b"app:" + PASSWORDS[0].encode()).decode()
    bearer = made(40, WORD)
    signature = made(43) + "%3D"
    storage = made(86, ALPHANUMERIC + "+/") + "=="
    hook = f"T{made(8, UPPER)}/B{made(8, UPPER)}/{made(24)}"
    cases = {
        f"aws_secret_access_key = {forty}": forty,
        f"The AWS secret is {forty}": forty,
        f"{'AK' + 'IA' + made(16, UPPER)},{forty}": forty,
        f'Client("{account}", "{thirty_two}")': thirty_two,
        f"curl -u {account}:{thirty_two} https://api.example.com": thirty_two,
        f"TWILIO_AUTH_TOKEN={thirty_two}": thirty_two,
        f"The admin password is {PASSWORDS[0]}, change it.": PASSWORDS[0],
        f"Authorization: Basic {basic}": basic,
        f"proxy header Basic {basic}": basic,
        f"curl -H 'Authorization: Bearer {bearer}' https://api.example.com": bearer,
        f"authorization: token {bearer}": bearer,
        f"https://store.blob.core.windows.net/c/f?sv=2022-11-02&se=2027&sig={signature}": signature,
        f"AccountName=shop;AccountKey={storage};EndpointSuffix=core.windows.net": storage,
        f"https://hooks.slack.com/services/{hook}": hook,
        f"//registry.example.com/:_authToken={bearer}": bearer,
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{forty}\n=Ab1c\n-----END PGP PRIVATE KEY BLOCK-----": forty,
    }
    for text, secret in cases.items():
        redacted = redact(text)
        assert secret not in redacted.text, text
        assert redacted.findings
        assert redact(redacted.text) == Redacted(redacted.text, ())


@promise(
    "hygiene:no-false-alarm",
    "Placeholders, references, hashes, identifiers and sentences about secrets are left exactly as they are.",
    source="issue Hygiene",
)
@pytest.mark.parametrize("line", BENIGN)
def test_ordinary_text_is_left_alone(line: str) -> None:
    assert redact(line) == Redacted(line, ())


@promise("hygiene:no-false-alarm")
def test_all_ordinary_lines_together_are_left_alone() -> None:
    text = "\n".join(BENIGN)
    assert redact(text) == Redacted(text, ())


@promise(
    "hygiene:findings-hold-no-secret",
    "What is reported about a redaction is kinds and counts, never the secret.",
    source="DESIGN D10",
)
def test_findings_count_by_kind_and_hold_no_secret() -> None:
    first, second, third = TOKENS["npm"][1](), TOKENS["npm"][1](), TOKENS["github user"][1]()
    redacted = redact(f"{first} {second} {third}")
    assert redacted.findings == (Finding("github-token", 1), Finding("npm-token", 2))
    assert not any(secret in repr(redacted) for secret in (first, second, third))


FRAGMENTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from([make() for _, make in TOKENS.values()]),
    st.sampled_from(BENIGN),
    st.sampled_from(
        [
            "password=", "password: ", '"', "'", "\\", "\n", "\\n", " ", "=", ":", "@", "://", "[REDACTED:", "]",
            "[REDACTED:password]", "[REDACTED:aws-access-key]", "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----", "postgres://app:", "Bearer ", "Basic ", "\u200d", "\ud83d", "\x00",
            "token is ", "aws ", "secret", "api_key", "Abc123def456", "--token ", "<password>", "</password>",
            "name: password\n value: ",
            "login x password ",
        ]
    ),
)  # fmt: skip


@promise(
    "hygiene:idempotent",
    "Redacting a redacted text changes nothing, and placeholders that are there stay as they are.",
    source="issue Hygiene (stored and again on the way out)",
)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(FRAGMENTS, max_size=14).map("".join))
@example("password=[REDACTED:password]hunter22 [REDACTED:x")
@example("\x1b[REDACTED:password]")
def test_redacting_again_changes_nothing_and_keeps_placeholders(text: str) -> None:
    redacted = redact(text)
    assert redact(redacted.text) == Redacted(redacted.text, ())
    kept = PLACEHOLDER.findall(redacted.text)
    assert len(kept) == len(PLACEHOLDER.findall(text)) + sum(finding.count for finding in redacted.findings)


@promise(
    "hygiene:any-text",
    "Any string can be redacted: lone surrogates, control characters, ten megabytes.",
    source="issue Hygiene",
)
@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=400))
@example("\ud800")
@example("\x00" * 50)
@example("[REDACTED:" * 40)
def test_any_text_is_accepted_and_can_be_encoded(text: str) -> None:
    redact(text).text.encode("utf-8")


HOSTILE = (
    "ey" "J", "eyJ.", "password=", 'password="', "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n",
    "Bearer ", "postgres://u:", "://", "sk-", "aws", "curl -u ", "mysql ", "[REDACTED:", "[REDACTED:x]", "<password>",
    "a\n", "'", "\\", "\u200d", "\u0301\u0316", "\ud800", "\x1b]", "AccountKey=", "secret", "=", " ",
    "name: password\n",
)  # fmt: skip


@promise("hygiene:linear")
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_proportional_to_the_length_of_hostile_text(piece: str) -> None:
    redact("")

    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.thread_time()
        redact(text)
        return time.thread_time() - started

    small = min(seconds(4_000) for _ in range(2))
    assert min(seconds(32_000) for _ in range(3)) < 8 * 4 * max(small, 0.002)


@promise("hygiene:any-text")
def test_ten_megabytes_are_finished() -> None:
    token = TOKENS["gitlab personal"][1]()
    line = "The retry helped because the upstream answers 503 for about 20 seconds after a deploy.\n"
    text = line * (10_000_000 // len(line)) + token
    redacted = redact(text)
    assert redacted.findings == (Finding("gitlab-token", 1),)
    assert token not in redacted.text


@promise("hygiene:lazy", "The detector is loaded only when a text is redacted.", source="DESIGN D12")
def test_the_detector_is_loaded_only_when_text_is_redacted() -> None:
    program = "import sys, reasoningbank.safety.stored_text; assert 'redact_secret' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
