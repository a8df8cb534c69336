/** Runs the command: in this process with captured streams, or as a process of its own. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { run as runCli } from "../../src/Cli.ts"
import * as Output from "../../src/Output.ts"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** The program, and servers to talk to: their command lines after `--`. */
export const main = path("../../src/main.ts")
export const everything = ["--", process.execPath, path("../../../everything/src/server.ts"), "--stdio"]
export const raw = (...args: ReadonlyArray<string>) => ["--", process.execPath, path("raw.ts"), ...args]

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A stream that keeps what is written to it. */
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

/** In this process: as fast as the server. */
export const run = (argv: ReadonlyArray<string>, terminal = false): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const stdout = capture(terminal, 80)
    const stderr = capture(false)
    const output = Layer.effect(
      Output.Output,
      Output.make({ env: { NO_COLOR: "1" }, stdin: {}, stdout: stdout.stream, stderr: stderr.stream })
    )
    const code = yield* Effect.provide(runCli(argv), Layer.mergeAll(NodeServices.layer, output), { local: true })
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  })

/** A process of its own; interrupted when `until` is seen on stdout, by the given signals. */
export const spawned = (
  argv: ReadonlyArray<string>,
  interrupt?: { readonly until: string; readonly signal: NodeJS.Signals }
): Effect.Effect<Ran> =>
  Effect.callback<Ran>((resume) => {
    const child = spawn(process.execPath, [main, ...argv], { env: { ...process.env, NO_COLOR: "1" } })
    let stdout = ""
    let stderr = ""
    child.stderr.on("data", (chunk) => (stderr += String(chunk)))
    child.stdout.on("data", (chunk) => {
      const before = stdout
      stdout += String(chunk)
      if (interrupt === undefined || before.includes(interrupt.until) || !stdout.includes(interrupt.until)) return
      child.kill(interrupt.signal)
    })
    child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, stdout, stderr })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
