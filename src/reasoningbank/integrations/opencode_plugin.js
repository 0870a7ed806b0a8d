// reasoningbank: written by `rbank install opencode`; `rbank uninstall opencode` takes it out.
import { spawn } from "node:child_process"
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

// The words that start a hook; the empty one is the event.
const COMMAND = ["rbank"]
const SECONDS = 10
const KEPT_DAYS = 7
const DATA = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const FOLDER = join(DATA, "opencode", "reasoningbank")

// Ask `rbank hook EVENT`; whatever goes wrong, the answer is that there is nothing to show.
function hook(event, payload) {
  return new Promise((done) => {
    let said = ""
    const child = spawn(COMMAND[0], COMMAND.slice(1).map((word) => word || event), {
      cwd: payload.cwd,
      stdio: ["pipe", "pipe", "ignore"],
      timeout: SECONDS * 1000,
      windowsHide: true,
    })
    child.on("error", () => done(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (said += data))
    child.on("close", () => {
      try {
        done(JSON.parse(said).hookSpecificOutput?.additionalContext ?? "")
      } catch {
        done("")
      }
    })
    child.stdin.end(JSON.stringify({ client: "opencode", ...payload }))
  })
}

// What was kept of sessions a week ago has been captured.
async function forget() {
  const names = await readdir(FOLDER).catch(() => [])
  for (const name of names) {
    const path = join(FOLDER, name)
    const known = await stat(path).catch(() => undefined)
    if (known && Date.now() - known.mtimeMs > KEPT_DAYS * 86_400_000) await rm(path, { force: true })
  }
}

export const ReasoningBank = async ({ client, directory }) => {
  const children = new Map()
  const begun = new Set()
  const waiting = new Map()
  const failed = new Set()
  const files = new Map()
  const pending = new Set()
  const payload = (session, name, more) => ({
    session_id: session,
    hook_event_name: name,
    cwd: directory,
    ...more,
  })

  // Sessions of sub-agents have a parent; they are not the person's.
  async function isChild(session) {
    if (!children.has(session)) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined)
      children.set(session, Boolean(found?.data?.parentID))
    }
    return children.get(session)
  }

  // Keep the session as `opencode export` writes it, for its user alone.
  async function kept(session) {
    const path = { id: session }
    const [info, messages] = await Promise.all([client.session.get({ path }), client.session.messages({ path })])
    if (!info?.data || !messages?.data) return ""
    await mkdir(FOLDER, { recursive: true, mode: 0o700 })
    const file = join(FOLDER, `${session}.json`)
    await writeFile(`${file}.part`, JSON.stringify({ info: info.data, messages: messages.data }, null, 2), { mode: 0o600 })
    await rename(`${file}.part`, file)
    return file
  }

  async function toolFailed(session, tool, args, error) {
    return hook(
      "tool-failure",
      payload(session, "PostToolUseFailure", { tool_name: tool, tool_input: args ?? {}, error: error.slice(-20_000) }),
    )
  }

  const quietly = (work) => async (...given) => {
    const done = work(...given).catch(() => {
      // A hook must never stop its agent; `rbank` notes its own failures.
    })
    pending.add(done)
    await done
    pending.delete(done)
  }

  // Wait, but not for what opencode no longer answers.
  async function patiently(work) {
    let timer
    const late = new Promise((done) => (timer = setTimeout(done, (SECONDS * 1000) / 2)))
    await Promise.race([work, late])
    clearTimeout(timer)
  }

  return {
    // opencode ends and waits for this alone: what is under way is done first, and nothing follows in any session.
    dispose: async () => {
      await patiently(Promise.all(pending))
      await Promise.all(
        [...files].map(([session, file]) => hook("session-end", payload(session, "SessionEnd", { transcript_path: file }))),
      )
    },

    event: quietly(async ({ event }) => {
      const part = event.properties?.part
      if (event.type === "session.idle") {
        const session = event.properties.sessionID
        if (await isChild(session)) return
        const file = await kept(session)
        if (file) {
          files.set(session, file)
          await hook("stop", payload(session, "Stop", { transcript_path: file }))
        }
        await forget()
      } else if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
        if (failed.has(part.callID) || (await isChild(part.sessionID))) return
        failed.add(part.callID)
        const shown = await toolFailed(part.sessionID, part.tool, part.state.input, part.state.error ?? "")
        if (shown) waiting.set(part.sessionID, shown)
      }
    }),

    "chat.message": quietly(async (input, output) => {
      const session = input.sessionID
      if (await isChild(session)) return
      const said = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      const shown = []
      if (!begun.has(session)) {
        begun.add(session)
        shown.push(await hook("session-start", payload(session, "SessionStart", { source: "startup" })))
      }
      shown.push(await hook("user-prompt-submit", payload(session, "UserPromptSubmit", { prompt: said.join("\n") })))
      const text = shown.filter(Boolean).join("\n\n")
      const last = output.parts.findLast((part) => part.type === "text")
      if (text && last) output.parts.push({ ...last, id: `${last.id}z`, text, synthetic: true })
    }),

    "tool.execute.after": quietly(async (input, output) => {
      const status = output?.metadata?.exit
      const late = waiting.get(input.sessionID)
      waiting.delete(input.sessionID)
      if (late) output.output += `\n\n${late}`
      if (typeof status !== "number" || status === 0 || (await isChild(input.sessionID))) return
      const shown = await toolFailed(input.sessionID, input.tool, input.args, String(output.output ?? ""))
      if (shown) output.output += `\n\n${shown}`
    }),
  }
}
