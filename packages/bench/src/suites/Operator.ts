/** Measures how long a scripted operator takes to find and stop a stuck call among many sessions, with commands and with the console's routes. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { bundle, programs } from "../bundle.ts"
import { Connection } from "../Connection.ts"
import * as Http from "../Http.ts"
import { type Figures, type Table, table } from "../Measure.ts"
import type { Options } from "../Options.ts"
import * as Process from "../Process.ts"
import { ours } from "../Servers.ts"

const many = 1000
const token = "token-of-the-operator"
/** Age of a stuck call that the operator looks for, in seconds. */
const age = 1

const run = promisify(execFile)

/** Returns the output of `effect-mcp top`, run as a separate process. */
const top = async (command: string, url: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const env = { ...process.env, EFFECT_MCP_ADMIN_TOKEN: token }
  const { stdout } = await run(process.execPath, [command, "top", url, "--json", ...args], { env, maxBuffer: 2 ** 26 })
  return stdout
}

interface Shown {
  readonly time: number
  readonly requests: ReadonlyArray<{ readonly key: string; readonly since: number }>
}

/** Finds the stuck call and stops it. */
type Operator = (url: string) => Promise<void>

const byCommands =
  (command: string): Operator =>
  async (url) => {
    const shown: Shown = JSON.parse(await top(command, url, "--older", `${age}s`))
    const key = shown.requests[0]?.key
    if (key === undefined) throw new Error("top shows no call")
    await top(command, url, "--interrupt", key, "--reason", "It hangs")
  }

const byRoutes: Operator = async (url) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const { requests, time }: Shown = JSON.parse(await (await fetch(`${url}/requests`, { headers })).text())
  const key = requests.find(({ since }) => time - since >= age * 1000)?.key
  if (key === undefined) throw new Error("The snapshot has no call")
  const body = JSON.stringify({ key, reason: "It hangs" })
  await fetch(`${url}/interrupt`, { method: "POST", headers, body })
}

/** Measures the time from the first look until the client of the call has its answer. */
const stopped = async (operator: Operator): Promise<Figures> => {
  const entry = { id: "operated", file: `${ours}/operated.js`, args: [token], eras: [] }
  const server = await Http.start(entry)
  const connection = new Connection(server.port)
  try {
    await connection.open()
    const sessions = []
    for (let i = 0; i < many; i++) sessions.push(await Http.open(connection))
    const { id = "", version = "" } = sessions[many >> 1] ?? {}
    const answer = fetch(`http://127.0.0.1:${server.port}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": id,
        "mcp-protocol-version": version
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "hold", arguments: {} } })
    }).then((response) => response.text())
    await new Promise((resolve) => setTimeout(resolve, (age + 0.1) * 1000))
    const from = performance.now()
    await operator(`http://127.0.0.1:${server.port}/admin`)
    if (!(await answer).includes("It hangs")) throw new Error("The call was not interrupted by the operator")
    return { ms: performance.now() - from }
  } finally {
    connection.end()
    await Process.stop(server.child)
  }
}

/** Builds the command as published, in one file. */
const commandIn = (folder: string): Promise<string> => {
  const program = programs.find(({ package: name }) => name === "cli")
  if (program === undefined) throw new Error("There is no command")
  return bundle(program, folder)
}

export const operator = async ({ quick }: Options): Promise<ReadonlyArray<Table>> => {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-operator-"))
  const command = await commandIn(folder)
  const measured = await table(
    `A call that hangs among ${many} sessions`,
    [
      { key: "two commands of a script", round: () => stopped(byCommands(command)) },
      { key: "the routes of the page", round: () => stopped(byRoutes) }
    ],
    quick ? 1 : 3,
    "from the first look until the client has the answer with the operator's reason: `top --json --older`, then `top --interrupt`; without a browser the same two requests"
  )
  rmSync(folder, { recursive: true, force: true })
  return [measured]
}
