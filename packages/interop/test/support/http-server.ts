/** Servers over HTTP in separate processes. */
import { Deferred, Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { serverFile } from "./official.ts"

export interface Served {
  readonly url: string
  /** Asks the process to stop, and returns its exit code, or the signal that killed it. */
  readonly terminate: Effect.Effect<number | NodeJS.Signals | null>
}

/** Starts `node ...args` and waits until it prints its address on stderr. */
export const start = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>
): Effect.fn.Return<Served, never, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] })),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )
  const exited = yield* Deferred.make<number | NodeJS.Signals | null>()
  child.once("exit", (code, signal) => Deferred.doneUnsafe(exited, Effect.succeed(code ?? signal)))
  const said = yield* Deferred.make<string>()
  createInterface({ input: child.stderr }).on("line", (line) => {
    const [url] = /https?:\S+$/.exec(line) ?? []
    if (url !== undefined) Deferred.doneUnsafe(said, Effect.succeed(url))
  })
  return {
    url: yield* Deferred.await(said),
    terminate: Effect.andThen(
      Effect.sync(() => void child.kill("SIGTERM")),
      Deferred.await(exited)
    )
  }
})

const reference = (over: string) => start([serverFile, over, "--port", "0"])
export const serve = reference("--http")
export const serveSse = reference("--sse")

/** The reference server over Streamable HTTP, in both ways, for `describe.each` or a loop; the name follows "over". */
export const ways: ReadonlyArray<readonly [name: string, serve: typeof serve]> = [
  ["Streamable HTTP", serve],
  ["Streamable HTTP directly on node:http", reference("--node")]
]
