"""The user's own agent client as a language model: run without a person, asked one prompt, answered with JSON.

It costs the user's subscription and no key of ours. Each run is alone: hooks, MCP servers and tools of the client are
off, its directory is empty, its time is limited, no session of it is kept, and a variable of its environment tells our
own hooks and servers to do nothing. What a client says about itself is never repeated in an error: it may quote a key.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO

from reasoningbank.errors import ModelUnavailable, PaidCallRefused
from reasoningbank.llm.budget import Reservation, SessionBudget, TokenBudget
from reasoningbank.llm.provider import paid_calls_refused
from reasoningbank.llm.run_folders import run_folder
from reasoningbank.settings import OWN_RUN, child_environment, own_run
from reasoningbank.system import end_family
from reasoningbank.telemetry import chatted
from reasoningbank.types.ports import Completion, Prompt

FOLDER = "client-runs"
"""The directory below the data directory in which clients run: theirs alone, and empty."""
MOST_OUTPUT = 8_000_000
"""Bytes of a client's output at which it is stopped."""
OVERHEAD_TOKENS = 24_000
"""Most tokens that a client adds to a prompt with words of its own, booked beforehand."""
ANSWER_TOKENS = 8_192
_SESSION_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_CLIENT",
)
"""What a client sets for the programs of a session, and which makes a second one of it behave as if it were inside."""
_LOGIN = re.compile(r"log ?in|logged out|auth|api[ _-]?key|credential|401|403", re.IGNORECASE)
_LIMIT = re.compile(r"rate|limit|quota|overloaded|429|529|usage|credit", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How a client is started for one prompt.

    Attributes:
        arguments: What follows the program's name.
        said: What it reads from its standard input.
        variables: Further variables of its environment.
    """

    arguments: Sequence[str]
    said: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Hold the content of a client's output.

    Attributes:
        text: The model's answer.
        input_tokens, output_tokens: As the client counted them; 0 when it did not.
        session: The client's name for the run.
        complaint: What it said instead of an answer; used to tell kinds of failure apart, never shown.
    """

    text: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    session: str = ""
    complaint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessQuestion:
    """Hold what is asked, and where the client may put a file for it.

    Attributes:
        program: The client's program.
        model: The client's name of a model; empty for the one that it is set to.
        instructions: What to do.
        material: What to do it with.
        directory: Where it runs.
        aside: A directory of this run alone, which the client does not work in.
        capture: Runs the program with these arguments and returns what it prints; empty when that fails.
    """

    program: str
    model: str
    instructions: str
    material: str
    directory: Path
    aside: Path
    capture: Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Headless:
    """How one client is run without a person.

    Attributes:
        program: The program's name.
        prepare: Returns how it is started.
        read: Returns what its output holds.
        tidy: Removes what the run left in the client's own files.
    """

    program: str
    prepare: Callable[[HeadlessQuestion], Invocation]
    read: Callable[[str], Reply]
    tidy: Callable[[Reply], None] | None = None


def _claude_run(question: HeadlessQuestion) -> Invocation:
    arguments = ["-p", "--output-format", "json", "--safe-mode", "--strict-mcp-config", "--tools", ""]
    arguments += ["--disable-slash-commands", "--no-session-persistence", "--system-prompt", question.instructions]
    arguments += ["--model", question.model] if question.model else []
    return Invocation(
        arguments=arguments, said=question.material, variables={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    )


def _claude_read(output: str) -> Reply:
    told = next((each for each in _objects(output) if each.get("type") == "result"), {})
    usage = _part(told, "usage")
    text = told.get("result")
    failed = told.get("is_error") is not False or not isinstance(text, str)
    return Reply(
        text="" if failed else str(text),
        complaint=f"{text} {told.get('subtype')}" if failed else "",
        input_tokens=_sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        output_tokens=_sum(usage, "output_tokens"),
    )


_CODEX_FEATURES = (
    *("hooks", "shell_tool", "unified_exec", "view_image", "goals", "apps", "plugins", "multi_agent", "memories"),
    *("browser_use", "computer_use", "image_generation", "skill_search", "tool_suggest", "sleep_tool"),
)


def _codex_run(question: HeadlessQuestion) -> Invocation:
    arguments = ["exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only"]
    settings = ["notify=[]", 'web_search="disabled"', "project_doc_max_bytes=0"]
    settings += [f"features.{name}=false" for name in _CODEX_FEATURES]
    listed = _json(question.capture(["mcp", "list", "--json"]))
    names = [each.get("name") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    settings += [f"mcp_servers.{name}.enabled=false" for name in names]
    for setting in settings:
        arguments += ["-c", setting]
    arguments += ["-m", question.model] if question.model else []
    return Invocation(arguments=[*arguments, "-"], said=f"{question.instructions}\n\n{question.material}")


def _codex_read(output: str) -> Reply:
    text, complaint, usage = "", "", dict[str, object]()
    for each in _objects(output):
        item = _part(each, "item")
        if each.get("type") == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        elif each.get("type") == "turn.completed":
            usage = _part(each, "usage")
        elif each.get("type") in {"turn.failed", "error"}:
            complaint += f" {each.get('message') or each.get('error')}"
    return Reply(
        text="" if complaint and not usage else text,
        complaint=complaint,
        input_tokens=_sum(usage, "input_tokens"),
        output_tokens=_sum(usage, "output_tokens"),
    )


_GEMINI_SETTINGS = {
    "hooksConfig": {"enabled": False},
    "mcp": {"allowed": ["none"]},
    "tools": {"core": ["none"]},
    "skills": {"enabled": False},
    "experimental": {"enableAgents": False},
    "context": {"fileName": ["none.md"]},
    "general": {"enableAutoUpdate": False, "checkpointing": {"enabled": False}},
}


def _gemini_run(question: HeadlessQuestion) -> Invocation:
    place = question.directory / ".gemini" / "settings.json"
    written = json.dumps(_GEMINI_SETTINGS)
    if not place.exists() or place.read_text(encoding="utf-8") != written:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        place.write_text(written, encoding="utf-8")
    system = question.aside / "system.md"
    system.write_text(question.instructions, encoding="utf-8", errors="replace")
    arguments = ["-o", "json", "-e", "none", "-p", "Do what your instructions say with the text before this line."]
    arguments += ["-m", question.model] if question.model else []
    variables = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_SYSTEM_MD": str(system)}
    return Invocation(arguments=arguments, said=question.material, variables=variables)


def _gemini_read(output: str) -> Reply:
    told = next((each for each in _objects(output) if "response" in each or "error" in each), {})
    session, text = str(told.get("session_id") or ""), told.get("response")
    if not isinstance(text, str):
        return Reply(complaint=str(told.get("error") or ""), session=session)
    counts = [_part(_part({"": each}, ""), "tokens") for each in _part(_part(told, "stats"), "models").values()]
    return Reply(
        text=text,
        session=session,
        input_tokens=sum(_sum(each, "prompt") for each in counts),
        output_tokens=sum(_sum(each, "candidates", "thoughts") for each in counts),
    )


def _gemini_tidy(reply: Reply) -> None:
    """Remove the record of the run: Gemini CLI has no switch for keeping none."""
    if not re.fullmatch(r"[0-9a-f-]{36}", reply.session):
        return
    home = Path(child_environment({}).get("GEMINI_CLI_HOME") or Path.home()) / ".gemini" / "tmp"
    for record in home.glob(f"*/chats/session-*{reply.session[:8]}.json*"):
        record.unlink(missing_ok=True)


def _opencode_run(question: HeadlessQuestion) -> Invocation:
    listed = _json(question.capture(["--pure", "debug", "config"]))
    servers = _part(listed, "mcp") if isinstance(listed, dict) else {}
    agent = {"mode": "primary", "prompt": question.instructions, "tools": {"*": False}, "permission": {"*": "deny"}}
    config = {
        "share": "disabled",
        "autoupdate": False,
        "snapshot": False,
        "mcp": {name: {"enabled": False} for name in servers},
        "agent": {"reasoningbank": agent},
    }
    arguments = ["run", "--pure", "--format", "json", "--title", "reasoningbank", "--agent", "reasoningbank"]
    arguments += ["--model", question.model] if question.model else []
    return Invocation(
        arguments=arguments, said=question.material, variables={"OPENCODE_CONFIG_CONTENT": json.dumps(config), **_ALONE}
    )


_ALONE = {
    "OPENCODE_DB": ":memory:",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
}


def _opencode_read(output: str) -> Reply:
    texts, complaint, counted = list[str](), "", [0, 0]
    for each in _objects(output):
        part = _part(each, "part")
        if each.get("type") == "text":
            texts.append(str(part.get("text") or ""))
        elif each.get("type") == "step_finish":
            tokens = _part(part, "tokens")
            counted[0] += _sum(tokens, "input") + _sum(_part(tokens, "cache"), "read", "write")
            counted[1] += _sum(tokens, "output", "reasoning")
        elif each.get("type") == "error":
            complaint += f" {each.get('error')}"
    return Reply(
        text="" if complaint else "".join(texts),
        complaint=complaint,
        input_tokens=counted[0],
        output_tokens=counted[1],
    )


HEADLESS: Mapping[str, Headless] = MappingProxyType(
    {
        "claude-code": Headless(program="claude", prepare=_claude_run, read=_claude_read),
        "codex": Headless(program="codex", prepare=_codex_run, read=_codex_read),
        "gemini": Headless(program="gemini", prepare=_gemini_run, read=_gemini_read, tidy=_gemini_tidy),
        "opencode": Headless(program="opencode", prepare=_opencode_run, read=_opencode_read),
    }
)
"""The clients that can be run without a person."""


@dataclass(slots=True)
class _Cost:
    """Hold what a run has cost so far.

    Attributes:
        tokens: Nothing while there is no output; what the client counted; None when it gave output and no count.
    """

    tokens: int | None = 0


class ClientModel:
    """A client on this machine, behind the ``LanguageModel`` port. Safe to use from several threads.

    Args:
        client: One of ``HEADLESS``.
        model: The client's name of a model; empty for the one that it is set to.
        home: The data directory; clients run below it.
        seconds: How long one run may take; then it is ended with everything that it has started.
        tokens: The tokens of the day; None for no limit.
        sessions: The captured sessions of the day; None for no limit.
        paid_calls: Allow it to be run at all.
    """

    def __init__(
        self,
        *,
        client: str,
        model: str = "",
        home: Path,
        seconds: float = 180.0,
        tokens: TokenBudget | None = None,
        sessions: SessionBudget | None = None,
        paid_calls: bool = True,
    ) -> None:
        self._client = client
        self._model = model
        self._home = home
        self._seconds = seconds
        self._tokens = tokens
        self._sessions = sessions
        self._paid_calls = paid_calls
        self._headless = HEADLESS[client]

    def __repr__(self) -> str:
        return f"ClientModel({self.name!r})"

    @property
    def name(self) -> str:
        """The name that a user chooses it by."""
        return f"client:{self._client}" + (f"/{self._model}" if self._model else "")

    def complete(self, prompt: Prompt, schema: Mapping[str, object], *, temperature: float = 0.0) -> Completion:
        """Return the answer, as it came; a client cannot be told a temperature.

        Raises:
            PaidCallRefused: Paid calls are switched off; nothing was run.
            BudgetExhausted: The sessions or tokens of the day do not suffice; nothing was run.
            ModelUnavailable: There was no answer. What the client counted of the run is spent, and nothing when it did
                not start or gave no output.
        """
        if not self._paid_calls or paid_calls_refused():
            raise PaidCallRefused(f"a run of {self.name} costs a subscription and paid calls are switched off")
        if own_run():
            raise ModelUnavailable(f"{self.name} runs this program itself.", hint="Use it outside of such a run.")
        program = found_program(self._headless.program)
        if self._sessions is not None:
            self._sessions.count()
        most = len((prompt.instructions + prompt.material).encode("utf-8", "replace")) + OVERHEAD_TOKENS + ANSWER_TOKENS
        booked = self._tokens.reserve(most) if self._tokens is not None else None
        cost = _Cost()
        try:
            with chatted(
                provider="client", model=self._client, temperature=temperature, max_tokens=ANSWER_TOKENS, server=""
            ) as chat:
                reply = self._answered(program, prompt, schema, cost)
                chat.answered(
                    model=self.name,
                    input_tokens=reply.input_tokens,
                    output_tokens=reply.output_tokens,
                    finish="stop",
                )
        except ModelUnavailable:
            self._settle(booked, cost)
            raise
        self._settle(booked, cost)
        return Completion(
            text=reply.text,
            model=self.name,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )

    def _settle(self, booked: Reservation | None, cost: _Cost) -> None:
        """Replace the booking by what is known to be spent; what nobody knows stays booked."""
        if self._tokens is not None and booked is not None and cost.tokens is not None:
            self._tokens.settle(booked, cost.tokens)

    def _answered(self, program: str, prompt: Prompt, schema: Mapping[str, object], cost: _Cost) -> Reply:
        directory = self._home / FOLDER / self._client
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        wanted = json.dumps(dict(schema), ensure_ascii=False)
        instructions = (
            f"{prompt.instructions}\n\nUse no tool. Answer with one JSON object that follows this JSON schema, and "
            f"with nothing else:\n{wanted}"
        )
        with run_folder(self._home) as aside:
            question = HeadlessQuestion(
                program=program,
                model=self._model,
                instructions=_sendable(instructions),
                material=_sendable(prompt.material),
                directory=directory,
                aside=aside,
                capture=lambda arguments: self._captured(program, arguments, directory),
            )
            run = self._headless.prepare(question)
            status, output, complaint = self._ran(program, run, directory, cost)
        reply = self._headless.read(output)
        counted = reply.input_tokens and reply.output_tokens
        if counted or not reply.text.strip():
            cost.tokens = reply.input_tokens + reply.output_tokens
        if self._headless.tidy is not None:
            self._headless.tidy(reply)
        if status or not reply.text.strip():
            raise self._failure(status, f"{reply.complaint} {complaint}")
        return reply

    def _captured(self, program: str, arguments: Sequence[str], directory: Path) -> str:
        invocation = Invocation(arguments=arguments, said="", variables=_ALONE)
        status, output, _ = self._ran(program, invocation, directory, _Cost())
        return "" if status else output

    def _ran(self, program: str, run: Invocation, directory: Path, cost: _Cost) -> tuple[int, str, str]:
        """Run the program to its end; return its exit status and what it wrote, which has a cost nobody knows yet."""
        environment = child_environment({**run.variables, OWN_RUN: "1"})
        for name in _SESSION_VARIABLES:
            environment.pop(name, None)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own client
                [program, *run.arguments],
                cwd=directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"{self.name} cannot be run ({type(error).__name__}).", hint=self._hint()) from error
        with _ended_with_us(process):
            output, complaint = _Collected(process, process.stdout), _Collected(process, process.stderr)
            writer = threading.Thread(target=_write, args=(process, run.said.encode()), daemon=True)
            writer.start()
            try:
                status = process.wait(self._seconds)
            except subprocess.TimeoutExpired as error:
                cost.tokens = None if output.began else 0
                raise ModelUnavailable(
                    f"{self.name} did not answer within {self._seconds:g} s and was ended.",
                    hint="Raise client_timeout, or choose a faster model.",
                ) from error
            told = output.text()
            cost.tokens = None if told.strip() else 0
            return status, told, complaint.text()

    def _failure(self, status: int, complaint: str) -> ModelUnavailable:
        if _LOGIN.search(complaint):
            return ModelUnavailable(f"{self.name} is not logged in.", hint=self._hint("and log in"))
        if _LIMIT.search(complaint):
            return ModelUnavailable(
                f"{self.name} is at a limit of its subscription.", hint="Later; what was to be learned waits."
            )
        how = f"ended with exit status {status}" if status else "gave no answer"
        return ModelUnavailable(f"{self.name} {how}.", hint=self._hint("to see why"))

    def _hint(self, why: str = "") -> str:
        return f"Run `{self._headless.program}` in a terminal {why}".rstrip() + ", or choose another model with llm."


def found_program(name: str) -> str:
    """Return the path of a client's program: on the search path, or where its installers put it.

    Raises:
        ModelUnavailable: When it is not there.
    """
    home = Path.home()
    places = (home / ".local" / "bin", home / ".claude" / "local", home / ".opencode" / "bin", home / ".npm-global/bin")
    further = os.pathsep.join(map(str, (*places, "/opt/homebrew/bin", "/usr/local/bin")))
    found = shutil.which(name) or shutil.which(name, path=further)
    if found is None:
        raise ModelUnavailable(f"the program {name} is not on this machine.", hint="Install it, or choose another llm.")
    return found


class _Collected:
    """Hold what a program writes to one stream, read beside it; too much of it ends the program."""

    def __init__(self, process: subprocess.Popen[bytes], stream: IO[bytes] | None) -> None:
        self._process, self._stream, self._parts = process, stream, bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while self._stream is not None and (part := self._stream.read(65_536)):
            self._parts += part
            if len(self._parts) > MOST_OUTPUT:
                _end(self._process)
                return

    @property
    def began(self) -> bool:
        """Return whether anything was written so far."""
        return bool(self._parts)

    def text(self) -> str:
        """Return what was written; what a grandchild still holds open is not waited for long."""
        self._thread.join(2.0)
        return self._parts.decode("utf-8", "replace")


def _write(process: subprocess.Popen[bytes], said: bytes) -> None:
    """Give the program its input; one that ends without reading it shows that by its exit status."""
    if process.stdin is None:
        return
    try:
        process.stdin.write(said)
        process.stdin.close()
    except OSError:
        return


_running: set[subprocess.Popen[bytes]] = set()


@contextmanager
def _ended_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the program with everything that it has started when the block ends, or when this program does."""
    _running.add(process)
    try:
        yield
    finally:
        _end(process)
        process.wait()
        _running.discard(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    end_family(process.pid)


@atexit.register
def _end_all() -> None:
    for process in tuple(_running):
        _end(process)


def _objects(output: str) -> Iterator[dict[str, object]]:
    """Give the JSON objects of an output: the whole, or one a line; what is none is passed over."""
    whole = _json(output[output.find("{") :]) if "{" in output else None
    if isinstance(whole, dict):
        yield whole
        return
    for line in output.splitlines():
        value = _json(line)
        if isinstance(value, dict):
            yield value


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _part(value: Mapping[str, object], name: str) -> dict[str, object]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _sum(values: Mapping[str, object], *names: str) -> int:
    found = (values.get(name) for name in names)
    return sum(value for value in found if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _sendable(text: str) -> str:
    """Return the text without halves of characters and without zeros, which no argument can carry."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
