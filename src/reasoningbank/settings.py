"""The only reader of the environment and of the settings file.

Precedence: an argument, then the environment (``REASONINGBANK_*``), then ``settings.toml`` in the data directory, then
the default. An unknown key is an error with a suggestion, never ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from reasoningbank.errors import ConfigurationError, InvalidInput

PREFIX = "REASONINGBANK_"
FILE_NAME = "settings.toml"
BANKS = "banks"
"""The directory below the data directory in which the files of banks are."""
SQLITE = "sqlite:///"
"""The beginning of the URL of a file or a directory of banks; a fourth slash begins an absolute path."""
POSTGRESQL = ("postgresql", "postgres")
"""The schemes of the URLs of a PostgreSQL database."""
OWN_RUN = f"{PREFIX}OWN_RUN"
"""Set in the environment of a client that we run as a language model: our hooks and servers in it do nothing."""
_SHORTEST_SECRET = 6
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?)?(?:KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|CREDENTIALS?|PAT|DSN|COOKIE)(?:_|$)",
    re.IGNORECASE,
)
_URL_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_ABOVE_NOTHING = (
    "idle_minutes",
    "model_idle_minutes",
    "http_sessions",
    "http_session_minutes",
    "http_connections",
    "http_head_seconds",
    "http_body_seconds",
    "http_stop_seconds",
    "http_tenant_requests",
    "http_tenant_megabytes",
)
"""Settings for which nothing, less than nothing and without end make no sense."""
GRAPH_FROM_SESSIONS = ("model", "always", "never")
"""When sessions are remembered in the graph."""
_RULES = frozenset(("decay_step", "decay_floor", "decay_recorded", "prune_below", "prune_after_days"))
"""Decay and pruning: unless one of them is set, a window need not import what checks them."""
_SECRET = ("embedder_key", "llm_key", "reranker_key")
_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be configured.

    Attributes:
        home: The data directory; files below it belong to the user alone.
        url: Where banks live; empty for one file per project below ``home``.
        vectors: An index of the vectors beside the banks: qdrant+http://HOST:PORT, milvus+http://HOST:PORT or
            milvus:///FILE; empty for none, unless the URL has ?vectors=.
        tenant: The owner of the banks; empty means that callers must name one.
        project: The project; empty means that it is derived from the working directory.
        team: The team that the project belongs to, whose memories searches find too; empty for none.
        org: The org that it belongs to, likewise.
        embedder: The embedder by name: local, minilm, granite, local+minilm, onnx:FOLDER, fastembed:MODEL,
            openai:MODEL.
        embedder_url: Base URL of a remote embedder.
        embedder_key: Its key; never shown.
        embedder_dimension: Its dimension, which a remote embedder needs; 0 is that of the local model.
        embedder_timeout: Seconds to wait for it.
        reranker: A model that puts the best hits of a search into a better order, by name: openai:MODEL for an endpoint
            with /rerank, fastembed:MODEL for a cross-encoder whose weights are here; empty for none.
        reranker_url: Base URL of the endpoint; questions and the texts of the hits are sent there.
        reranker_key: Its key; never shown.
        reranker_timeout: Seconds that one answer may take; then the order stays as it is.
        backups: How many automatic backups of a bank are kept.
        llm: The language model by name: openai:MODEL, anthropic:MODEL, google:MODEL, or the user's own client as
            client:claude-code, client:codex, client:gemini, client:opencode; empty for none.
        llm_url: Base URL instead of the provider's own, as of a local server.
        llm_key: Its key; never shown. Empty takes the provider's own variable.
        llm_daily_tokens: Tokens per UTC day that are never exceeded; 0 for no limit.
        llm_output_tokens: Most tokens of one answer, thinking included.
        llm_context: Tokens that the model reads at once, prompt and answer together, at least 2,048; 0 asks the server
            at ``llm_url``.
        llm_timeout: Seconds one attempt may take; 0 for 600 on this machine, elsewhere for as long as the prompt needs.
        llm_votes: How many judgements of the model are put to the vote.
        graph_from_sessions: When a distilled session is also remembered as a conversation of the graph: model where a
            language model is configured, always also without one, never.
        profile: Which tools the MCP server offers: core, briefing, curation, learning, experience, admin, graph, or
            several as in core,graph.
        paid_calls: Allow calls of a language model that is not on this machine.
        client_daily_sessions: Captured sessions per UTC day that a client's model (``client:NAME``) may judge and
            distil; 0 for no limit.
        client_daily_tokens: Tokens per UTC day that it may use; 0 for no limit.
        client_timeout: Seconds one run of a client may take.
        reminders: Tell an agent, at most once a day, that sessions wait to be distilled.
        holdout: The share of sessions that no memory is injected into, so that ``report`` can say what memory is
            worth; at least 0 and below 1.
        consolidate: Consolidate in the daily upkeep; without a language model only near-duplicates.
        decay_step: The fall of the confidence for each full month without activity; 0 for none.
        decay_floor: The share of the initial confidence that decay never goes below.
        decay_recorded: Let memories that a person recorded decay too.
        prune_below: Memories below this confidence are archived once they are unused.
        prune_after_days: For so many days.
        keep_logs_days: For so many days logged searches, what sessions were shown, and the names of sessions in the
            evidence are kept; 0 for ever.
        repository: The git repository in which the worker looks up what became of commits; empty for none.
        shared: Use one server of the user for ``rbank serve`` on stdio, hooks and commands.
        run_directory: Where its socket is; empty for the user's own directory of the running system.
        idle_minutes: After so many minutes without a connection the shared server ends.
        model_idle_minutes: After so many minutes without use it unloads a local embedding model.
        http_sessions: Most sessions, and most WebSockets, that one token may have open with ``rbank serve --http``.
        http_session_minutes: After so many minutes without a request such a session ends.
        http_connections: Most connections that one address may have open with it.
        http_head_seconds: Seconds until the head of a request must have arrived.
        http_body_seconds: Seconds until its body must have arrived after that.
        http_stop_seconds: Seconds that a server which is told to end has for the answers that it has begun.
        http_tenant_requests: Most requests of one tenant a minute.
        http_tenant_megabytes: Most mebibytes of its requests a minute.
        http_stateless: Keep no protocol sessions, so that any of several servers may answer the next request.
    """

    home: Path
    url: str = ""
    vectors: str = ""
    tenant: str = ""
    project: str = ""
    team: str = ""
    org: str = ""
    embedder: str = "local"
    embedder_url: str = ""
    embedder_key: str = ""
    embedder_dimension: int = 0
    embedder_timeout: float = 30.0
    reranker: str = ""
    reranker_url: str = ""
    reranker_key: str = ""
    reranker_timeout: float = 3.0
    backups: int = 7
    llm: str = ""
    llm_url: str = ""
    llm_key: str = ""
    llm_daily_tokens: int = 0
    llm_output_tokens: int = 8_192
    llm_context: int = 0
    llm_timeout: float = 0.0
    llm_votes: int = 1
    graph_from_sessions: str = "model"
    profile: str = "core"
    paid_calls: bool = True
    client_daily_sessions: int = 20
    client_daily_tokens: int = 500_000
    client_timeout: float = 180.0
    reminders: bool = True
    holdout: float = 0.0
    consolidate: bool = True
    decay_step: float = 0.05
    decay_floor: float = 0.5
    decay_recorded: bool = False
    prune_below: float = 0.3
    prune_after_days: int = 90
    keep_logs_days: int = 365
    repository: str = ""
    shared: bool = True
    run_directory: str = ""
    idle_minutes: float = 30.0
    model_idle_minutes: float = 10.0
    http_sessions: int = 200
    http_session_minutes: float = 30.0
    http_connections: int = 256
    http_head_seconds: float = 10.0
    http_body_seconds: float = 30.0
    http_stop_seconds: float = 3.0
    http_tenant_requests: int = 6_000
    http_tenant_megabytes: float = 600.0
    http_stateless: bool = False

    def __post_init__(self) -> None:
        for name in _ABOVE_NOTHING:
            unit = name.rpartition("_")[2]
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ConfigurationError(f"{name} must be above 0", hint=f"Set it to a number of {unit}, as 30.")
        if self.graph_from_sessions not in GRAPH_FROM_SESSIONS:
            known = ", ".join(GRAPH_FROM_SESSIONS)
            raise ConfigurationError(
                f"graph_from_sessions is one of {known}, not {self.graph_from_sessions[:80]!r}",
                hint="Set it to model for sessions that a language model distills, to always or to never.",
            )
        if self.keep_logs_days < 0:
            raise ConfigurationError("keep_logs_days cannot be below 0", hint="Set it to 0 to keep logs for ever.")
        if not 0.0 <= self.holdout < 1.0:
            raise ConfigurationError(
                f"holdout is a share of the sessions, at least 0 and below 1, not {self.holdout}",
                hint="Set it to 0.1 for one session in ten, or to 0 for none.",
            )
        if all(getattr(self, each.name) == each.default for each in fields(self) if each.name in _RULES):
            return
        from reasoningbank.types.lifecycle import DecayRules, PruneRules

        try:
            DecayRules(step=self.decay_step, floor=self.decay_floor, recorded=self.decay_recorded)
            PruneRules(below=self.prune_below, after_days=self.prune_after_days)
        except InvalidInput as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def __repr__(self) -> str:
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        shown |= {name: "***" for name in _SECRET if shown[name]}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class ShownSetting(NamedTuple):
    """One setting for a person to read: a secret only says whether it is set, a URL keeps its password to itself."""

    name: str
    value: str
    usual: bool
    about: str


def shown_settings(settings: Settings) -> list[ShownSetting]:
    """Return every setting with what it is for, in the order of their description."""
    about = dict(re.findall(r"^ {8}(\w+): ((?:.|\n {12})+)", Settings.__doc__ or "", re.MULTILINE))
    found = []
    for each in fields(Settings):
        value = getattr(settings, each.name)
        text = shown_url(value) if each.name.endswith("url") or each.name == "vectors" else str(value)
        if each.name in _SECRET:
            text = "set" if value else ""
        said = " ".join(about.get(each.name, "").split())
        found.append(ShownSetting(each.name, text, value == each.default, said))
    return found


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the environment and the settings file.

    Raises:
        ConfigurationError: When the file cannot be read, or a key or a value is not known.
    """
    environment = os.environ if environment is None else environment
    home = data_directory(environment)
    settings = _from_file(Settings(home=home), home / FILE_NAME)
    known = _names() | {"home", "log", OWN_RUN.removeprefix(PREFIX).lower()}
    for name, raw in environment.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX).lower()
        if key not in known:
            raise _unknown(name, [PREFIX + option.upper() for option in known])
        if key in _names() and raw:
            settings = _with(settings, key, raw, name)
    return settings


def data_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return the data directory: ``REASONINGBANK_HOME``, else the platform's place for data."""
    environment = os.environ if environment is None else environment
    return Path(environment.get(f"{PREFIX}HOME") or _default_home()).expanduser().absolute()


def own_run(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether this program runs inside of a client that was started as a language model."""
    return bool((os.environ if environment is None else environment).get(OWN_RUN))


AGENT_MARKS = (
    "AI_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLINE_ACTIVE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
)
"""Variables that a client sets for the commands that its agent runs; ``AI_AGENT`` is what several agreed on."""


def run_by_agent(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether the environment says that an agent runs this program."""
    found = os.environ if environment is None else environment
    return any(found.get(name) for name in AGENT_MARKS)


def wants_plain_text(environment: Mapping[str, str] | None = None) -> bool:
    """Return whether a person wants no colours: NO_COLOR says so, or the terminal has none."""
    environment = os.environ if environment is None else environment
    return bool(environment.get("NO_COLOR")) or environment.get("TERM", "") in {"", "dumb"}


def copilot_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return where Copilot CLI keeps its sessions."""
    environment = os.environ if environment is None else environment
    home = environment.get("COPILOT_HOME")
    return Path(home) if home else Path.home() / ".copilot"


def client_directory(environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the directory of the project that an agent's client works on, when it says so and the directory exists."""
    environment = os.environ if environment is None else environment
    named = environment.get("CLAUDE_PROJECT_DIR") or environment.get("DEVIN_PROJECT_DIR") or ""
    return Path(named) if named and Path(named).is_dir() else None


def local_tenant() -> str:
    """Return the tenant of a command or stdio server that names none: the local user (DESIGN D9)."""
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, OSError, KeyError):  # Windows has no `pwd`
        return f"user-{os.getuid()}" if hasattr(os, "getuid") else "local"


def project_of(directory: Path) -> str:
    """Return the project of a directory: its git remote and the path inside, else its real path (DESIGN D9)."""
    real = directory.resolve()
    remote = _git(real, "config", "--get", "remote.origin.url")
    root = _git(real, "rev-parse", "--show-toplevel")
    if not root:
        return str(real)
    inside = real.relative_to(Path(root).resolve()).as_posix() if real.is_relative_to(Path(root).resolve()) else "."
    base = normal_remote(remote) if remote else str(Path(root).resolve())
    return base if inside == "." else f"{base}/{inside}"


def normal_remote(remote: str) -> str:
    """Return one name for all spellings of a remote: host/path, lower-case host, no scheme, user, port or ``.git``."""
    from urllib.parse import urlsplit

    match = re.fullmatch(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)", remote)
    if match:
        host, path = match.group(1), match.group(2)
    else:
        parts = urlsplit(remote)
        host, path = parts.hostname or "", parts.path
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host.lower()}/{path}" if host else hashlib.sha256(remote.encode()).hexdigest()[:16] + f"/{path}"


def _default_home() -> str:
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:  # as platformdirs does it, which imports much
        named = os.environ.get("XDG_DATA_HOME", "").strip()
        return os.path.join(named or os.path.expanduser("~/.local/share"), "reasoningbank")  # noqa: PTH111, PTH118
    import platformdirs

    return platformdirs.user_data_dir("reasoningbank", appauthor=False)


def _git(directory: Path, *arguments: str) -> str:
    import subprocess

    try:
        answer = subprocess.run(  # noqa: S603 - fixed program and arguments
            ["git", "-C", str(directory), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            encoding="utf-8",
            timeout=5,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _names() -> set[str]:
    return {field.name for field in fields(Settings)} - {"home"}


def _from_file(settings: Settings, path: Path) -> Settings:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return settings
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    import tomllib  # only where there is such a file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    for key, value in values.items():
        if key not in _names():
            raise _unknown(key, list(_names()))
        settings = _with(settings, key, value, f"{key} in {path.name}")
    return settings


def _with(settings: Settings, key: str, value: object, source: str) -> Settings:
    wanted = type(getattr(settings, key))
    try:
        if isinstance(value, (dict, list)) or (wanted is str and not isinstance(value, str)):
            raise ValueError(f"expected {wanted.__name__}")
        converted = _switched(value) if wanted is bool else wanted(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{source} is not usable: {error}", hint=f"Give it a {wanted.__name__}.") from error
    return replace(settings, **cast("dict[str, Any]", {key: converted}))


def _switched(value: object) -> bool:
    """Return a switch as TOML has it or as a variable spells it."""
    state = value if isinstance(value, bool) else _SWITCH.get(str(value).strip().lower())
    if state is None:
        raise ValueError("expected true or false")
    return state


def _unknown(name: str, options: list[str]) -> ConfigurationError:
    import difflib

    close = difflib.get_close_matches(name, options, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(sorted(options))}."
    return ConfigurationError(f"{name} is not a setting", hint=hint)


def secret_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment's variables that hold a secret, by their name or by a password in a URL.

    Values of fewer than six characters are left out: they are switches, and they occur in ordinary text.
    """
    environment = os.environ if environment is None else environment
    return {
        name: value
        for name, value in environment.items()
        if len(value) >= _SHORTEST_SECRET and (_SECRET_NAME.search(name) or _URL_WITH_PASSWORD.search(value))
    }


def use_home(directory: str) -> None:
    """Use this data directory from now on, in this process and those that it starts."""
    os.environ[f"{PREFIX}HOME"] = directory


def named_home(environment: Mapping[str, str] | None = None) -> str:
    """Return the data directory that the environment names; empty when it is the platform's place for data."""
    environment = os.environ if environment is None else environment
    return str(data_directory(environment)) if environment.get(f"{PREFIX}HOME") else ""


def write_setting(home: Path, key: str, value: str | bool) -> bool:
    """Set one key of the settings file and leave the rest as it is; whether anything is different.

    Raises:
        ConfigurationError: When the file cannot be read or written.
    """
    import tomllib

    if key not in _names():
        raise _unknown(key, sorted(_names()))
    path = home / FILE_NAME
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    try:
        before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        known = tomllib.loads(before)
        found = re.compile(rf"^[ \t]*{key}[ \t]*=[^\n]*$", re.MULTILINE)
        after = found.sub(lambda _: line, before, count=1) if key in known else _first(line, before)
        if tomllib.loads(after) != {**known, key: value}:
            raise ConfigurationError(f"{key} cannot be set in {path}", hint="Set it by hand.")
        if after != before:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = path.with_name(f".{FILE_NAME}.{os.getpid()}")
            partial.write_text(after, encoding="utf-8")
            partial.chmod(0o600)
            partial.replace(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be changed: {error}") from error
    return after != before


def _first(line: str, text: str) -> str:
    """Return the text with a further line before everything else, where no table has begun yet."""
    return f"{line}\n{text}"


def set_default_variable(name: str, value: str) -> None:
    """Set a variable of this process's environment for a library that reads it, unless it is set already."""
    os.environ.setdefault(name, value)


def child_environment(variables: Mapping[str, str], *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return this process's environment with further variables, for a program that is run.

    Args:
        variables: The further ones.
        without: How the names begin that are left out.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith(without)} | {**variables}


def matching_environment(beginnings: tuple[str, ...]) -> dict[str, str]:
    """Return the variables whose names begin like one of these."""
    return {name: value for name, value in os.environ.items() if name.startswith(beginnings)}


def is_in_environment(beginning: str) -> bool:
    """Return whether there is a variable whose name begins like this; looked at again when their number changes."""
    return _is_among(beginning, len(os.environ))


@lru_cache(maxsize=8)
def _is_among(beginning: str, variables: int) -> bool:  # noqa: ARG001 - how many there were when it was looked at
    return any(name.startswith(beginning) for name in os.environ)


def absolute_url(url: str) -> str:
    """Check the URL of a place where banks live, and return it as it means the same in every working directory.

    Args:
        url: ``sqlite:///PATH``, ``postgresql://...`` or ``memory://``; a relative path is one below the working
            directory.

    Raises:
        ConfigurationError: When the URL names no store that exists.
    """
    from urllib.parse import quote, unquote, urlsplit

    url, vectors = split_vectors(url)
    beside = f"?vectors={quote(vectors, safe=':/@')}" if vectors else ""
    usual = f"Use {SQLITE}PATH, postgresql://..., memory:// or no URL for the embedded default."
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise ConfigurationError(f"{url!r} is not a URL: {error}", hint=usual) from error
    path = unquote(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else ""
    if "\0" in url or "\0" in path:
        raise ConfigurationError(f"{url[:80]!r} holds a NUL, which no path has", hint=usual)
    if not path and scheme not in {"memory", *POSTGRESQL}:
        raise ConfigurationError(f"{url[:80]!r} names no store", hint=usual)
    if not path or path.startswith("~") or Path(path).is_absolute():
        return url + (beside.replace("?", "&", 1) if "?" in url else beside)
    if _lacks_a_slash(path):
        raise ConfigurationError(
            f"{url!r} is a path below the working directory, which has no such directory; perhaps /{path} is meant",
            hint=f"Use {SQLITE}/{path} for the absolute path, or {SQLITE}./{path} for the relative one.",
        )
    return SQLITE + quote(str(Path(path).absolute())) + beside


_VECTORS = re.compile(r"[?&]vectors=([^&]*)")


def split_vectors(url: str) -> tuple[str, str]:
    """Return the URL of banks without the index of vectors that it names, and the URL of that index; empty for none."""
    from urllib.parse import unquote

    found = _VECTORS.search(url)
    if found is None:
        return url, ""
    before, after = url[: found.start()], url[found.end() :]
    return before + (f"?{after[1:]}" if found.group().startswith("?") and after else after), unquote(found.group(1))


def shown_url(url: str) -> str:
    """Return the URL of a place for people to read: without the name and the password of a user."""
    from urllib.parse import urlsplit

    url, vectors = split_vectors(url)
    beside = f"?vectors={shown_url(vectors)}" if vectors else ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that cannot be read"
    if "@" not in parts.netloc and parts.scheme not in POSTGRESQL:
        return url + beside
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{beside}"


def _lacks_a_slash(path: str) -> bool:
    """Return whether a relative path lacks its leading slash: its first directory exists only at the root."""
    parts = Path(path).parts
    forgotten = not path.startswith(".") and len(parts) > 1
    return forgotten and not Path(parts[0]).exists() and Path("/", parts[0]).is_dir()


def on_this_machine(url: str) -> bool:
    """Return whether the URL names the loopback interface: nobody bills for that, and no proxy stands before it."""
    import ipaddress
    from urllib.parse import urlsplit

    host = (urlsplit(url).hostname or "") if url else ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
