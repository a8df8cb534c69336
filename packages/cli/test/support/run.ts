/** Runs the command, either in this process with captured streams or in a separate process. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { Memory } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Context, Effect, Layer, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { layer } from "@effect-mcp/interop/reference/everything"
import { run as runCli } from "@effect-mcp/cli/Cli"
import * as Output from "@effect-mcp/cli/Output"
import { parse, type CommandTarget, type Words } from "@effect-mcp/cli/Target"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** The program, and the command lines of servers. */
const main = path("../../src/main.ts")
const cache = Object.entries(compileCache).flatMap(([name, value]) => ["--env", `${name}=${value}`])
export const everything = [
  ...cache,
  "--",
  process.execPath,
  path("../../../interop/src/reference/server.ts"),
  "--stdio"
]
export const raw = (...args: ReadonlyArray<string>) => [...cache, "--", process.execPath, path("raw.ts"), ...args]

/** The reference server without a process. */
export const here = ["--", "here"]

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A stream that records its output. */
export const capture = (isTTY = false, columns?: number) => {
  const chunks: Array<Uint8Array> = []
  const stream: Output.Writable = {
    isTTY,
    columns,
    write: (data, done) => {
      chunks.push(typeof data === "string" ? new TextEncoder().encode(data) : data)
      done()
      return true
    },
    on: () => undefined
  }
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

/** The reference server, inside this process. */
const inProcess: CommandTarget = {
  name: "everything",
  connect: Effect.fnUntraced(function* () {
    const [client, server] = yield* Memory.pair()
    const { connect } = yield* Effect.map(Layer.build(layer()), Context.get(McpServer.McpServer))
    yield* connect(server)
    return client
  })
}

const targetOf = (words: Words): CommandTarget | undefined => (words?.[0] === "here" ? inProcess : parse(words))

/** Runs in this process. `here` in place of a server's command is the reference server, also in this process. */
export const run = (argv: ReadonlyArray<string>, terminal = false): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const stdout = capture(terminal, 80)
    const stderr = capture(false)
    const output = Layer.effect(
      Output.Output,
      Output.make({ env: { NO_COLOR: "1" }, stdin: {}, stdout: stdout.stream, stderr: stderr.stream })
    )
    const code = yield* Effect.provide(runCli(argv, targetOf), Layer.mergeAll(NodeServices.layer, output), {
      local: true
    })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  })

/** Input to send once `until` was printed after the previous step. */
export interface Step {
  readonly until: string
  /** Default stdout. */
  readonly on?: "stderr" | "stdout"
  readonly type?: string
  readonly signal?: NodeJS.Signals
}

/** Runs a separate process. Steps react to its output; without steps, stdin ends right after the input. */
export const spawned = (
  command: string,
  args: ReadonlyArray<string>,
  steps: ReadonlyArray<Step> | "end" = [],
  input = ""
): Effect.Effect<Ran> =>
  Effect.callback<Ran>((resume) => {
    const child = spawn(command, args, { env: { ...process.env, NO_COLOR: "1", TERM: "xterm" } })
    const left = steps === "end" ? [] : [...steps]
    const said = { stdout: "", stderr: "" }
    const seen = { stdout: 0, stderr: 0 }
    for (const on of ["stdout", "stderr"] as const) {
      child[on].on("data", (chunk) => {
        said[on] += String(chunk)
        const [step] = left
        if (step === undefined || (step.on ?? "stdout") !== on) return
        const at = said[on].indexOf(step.until, seen[on])
        if (at === -1) return
        seen[on] = at + step.until.length
        left.shift()
        if (step.type !== undefined) child.stdin.write(step.type)
        if (step.signal !== undefined) child.kill(step.signal)
      })
    }
    child.stdin.write(input)
    if (steps === "end") child.stdin.end()
    child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, ...said })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The program's command line. It sets a revision, because detecting it depends on how fast the server starts. */
export const commandLine = (argv: ReadonlyArray<string>): readonly [string, ...Array<string>] => [
  process.execPath,
  main,
  "--revision",
  "2025-11-25",
  ...argv
]

/** Starts a program that prints its address on stderr. */
const servedBy = (file: string, ...more: ReadonlyArray<string>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<readonly [ChildProcess, string]>((resume) => {
        const child = spawn(process.execPath, [path(file), ...more], { env: { ...process.env, ...compileCache } })
        let said = ""
        child.stderr.on("data", (chunk) => {
          said += String(chunk)
          const [url] = /https?:\S+(?=\n)/.exec(said) ?? []
          if (url !== undefined) resume(Effect.succeed([child, url]))
        })
      }),
      ([child]) => Effect.sync(() => child.kill())
    ),
    ([, url]) => url
  )

/** Starts the reference server over Streamable HTTP in a separate process, and returns its URL. */
export const served = servedBy("../../../interop/src/reference/server.ts", "--http", "--port", "0")

/** The reference server over HTTP with SSE, and one of the official SDK v1. */
export const servedSse = servedBy("../../../interop/src/reference/server.ts", "--sse", "--port", "0")
export const servedSdkSse = servedBy("../../../interop/test/fixtures/sdk-v1-sse-server.ts")

/** The program itself. */
export const program = (
  argv: ReadonlyArray<string>,
  steps?: ReadonlyArray<Step>,
  input?: string
): Effect.Effect<Ran> => {
  const [command, ...args] = commandLine(argv)
  return spawned(command, args, steps, input)
}
