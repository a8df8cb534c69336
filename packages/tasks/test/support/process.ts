/** A server in a separate process, as its client and the operating system see it. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { Deferred, Effect, Schedule, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("server.ts", import.meta.url))
/** The declarations of a client with tasks, and of one without. */
const able = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } }
const unable = {}
const metaOf = (capabilities: object) => ({
  [Meta.protocolVersion]: "2026-07-28",
  [Meta.clientInfo]: { name: "test", version: "0" },
  [Meta.clientCapabilities]: capabilities
})

export interface Seen {
  readonly [key: string]: any
}

export interface Process {
  readonly pid: number
  readonly request: (method: string, params: object) => Effect.Effect<Seen>
  /** Calls a tool as a client without tasks. */
  readonly callTool: (name: string, args: object) => Effect.Effect<Seen>
  /** The first line of its stderr with this beginning, from now or earlier. */
  readonly line: (start: string) => Effect.Effect<string>
  /** All lines so far. */
  readonly lines: ReadonlyArray<string>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly exited: Effect.Effect<void>
}

/** Starts the server; it is killed with the scope. `dies`: it kills itself once it has created a task. */
export const start = (
  kind: string,
  place: string,
  lease = 10_000,
  dies?: "dies"
): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [script, kind, place, String(lease), dies ?? "lives"], { stdio: "pipe" })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    ),
    (child) => {
      const lines: Array<string> = []
      const waiting = new Set<readonly [string, Deferred.Deferred<string>]>()
      const answers = new Map<number, Deferred.Deferred<Seen>>()
      const exited = Deferred.makeUnsafe<void>()
      let id = 0
      createInterface(child.stderr).on("line", (line) => {
        lines.push(line)
        for (const [start, found] of waiting)
          if (line.startsWith(start)) Deferred.doneUnsafe(found, Effect.succeed(line))
      })
      createInterface(child.stdout).on("line", (line) => {
        const { error, id, result } = JSON.parse(line)
        const answer = answers.get(id)
        if (answer !== undefined) Deferred.doneUnsafe(answer, Effect.succeed(result ?? error))
      })
      // The process may be gone while a request is written.
      child.stdin.on("error", () => {})
      child.on("exit", () => Deferred.doneUnsafe(exited, Effect.void))
      const request = (method: string, params: object, capabilities: object = able) =>
        Effect.suspend(() => {
          const answer = Deferred.makeUnsafe<Seen>()
          answers.set(++id, answer)
          const sent = { jsonrpc: "2.0", id, method, params: { ...params, _meta: metaOf(capabilities) } }
          child.stdin.write(`${JSON.stringify(sent)}\n`)
          return Deferred.await(answer)
        })
      return {
        pid: child.pid ?? 0,
        lines,
        exited: Deferred.await(exited),
        request,
        callTool: (name, args) => request("tools/call", { name, arguments: args }, unable),
        line: (start) =>
          Effect.suspend(() => {
            const known = lines.find((line) => line.startsWith(start))
            if (known !== undefined) return Effect.succeed(known)
            const found = Deferred.makeUnsafe<string>()
            waiting.add([start, found])
            return Deferred.await(found)
          }),
        signal: (signal) => Effect.sync(() => void child.kill(signal))
      }
    }
  )

export const call = (server: Process, args: object): Effect.Effect<string> =>
  Effect.map(server.request("tools/call", { name: "steps", arguments: args }), ({ taskId }) => String(taskId))

const endings: ReadonlyArray<unknown> = ["completed", "failed", "cancelled"]

/** The task once it has ended. Polling without a pause would hit the rate limit. */
export const ended = (server: Process, taskId: string): Effect.Effect<Seen> =>
  server
    .request("tasks/get", { taskId })
    .pipe(Effect.repeat({ until: ({ status }) => endings.includes(status), schedule: Schedule.spaced("10 millis") }))

/**
 * Runs a task that asks, kills its process while it waits, and sends the answer to the next process. Returns both processes, and the task's
 * end.
 */
export const answeredElsewhere = Effect.fnUntraced(function* (kind: string, place: string) {
  const a = yield* start(kind, place)
  const taskId = yield* call(a, { count: 2, millis: 1, ask: true })
  yield* a.line("recorded 0")
  yield* a
    .request("tasks/get", { taskId })
    .pipe(Effect.repeat({ until: ({ status }) => status === "input_required", schedule: Schedule.spaced("10 millis") }))
  yield* a.signal("SIGKILL")
  yield* a.exited
  const b = yield* start(kind, place)
  const sure = { action: "accept", content: { ok: true } }
  yield* b.request("tasks/update", { taskId, inputResponses: { sure } })
  yield* b.line("done")
  return { a, b, task: yield* ended(b, taskId) }
})
