/** Clients of servers that are child processes. */
import * as Stdio from "@effect-mcp/client/Stdio"
import * as McpClient from "@effect-mcp/client/McpClient"
import { NodeServices } from "@effect/platform-node"
import { Effect, type Scope } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

export const server = (...flags: ReadonlyArray<string>): Stdio.Options => ({
  command: process.execPath,
  args: [fixture("server.ts"), ...flags]
})

/** A process that ended but was not yet reaped by its parent does not count as alive. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

/** Returns a client of a process, and the process's id. */
export const start = (options: Stdio.Options & McpClient.Options) =>
  Effect.gen(function* () {
    const wire = yield* Stdio.open(options)
    return { client: yield* McpClient.connect(wire, options), wire }
  })

export const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(effect), ([duration, value]) => ({ millis: Number(duration.valueOf()), duration, value }))

export const withProcesses = <A, E>(effect: Effect.Effect<A, E, Scope.Scope | Stdio.Requirements>) =>
  Effect.provide(Effect.scoped(effect), NodeServices.layer)
