/**
 * Keeps standard output clean. While the guard is on, only text from this module's writers reaches stdout, and all other output goes to
 * stderr.
 *
 * Replaces `process.stdout.write`, because a stray `console.log` doesn't go through an Effect service.
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

interface Writable {
  write: (chunk: string | Uint8Array, ...rest: ReadonlyArray<unknown>) => boolean
}
interface ProcessLike {
  readonly stdout: Writable
  readonly stderr: Writable
}

const hasProcess = (global: unknown): global is { readonly process: ProcessLike } =>
  typeof global === "object" &&
  global !== null &&
  "process" in global &&
  typeof global.process === "object" &&
  global.process !== null &&
  "stdout" in global.process &&
  "stderr" in global.process

const encoder = new TextEncoder()
/**
 * MCP chunks that have not been written yet. Only the newest few are kept, because each is written before the next is created. All of the
 * process's guards share it, because they can be nested. A WeakSet would cost the garbage collector more than the rest of a response
 * (`packages/bench/NOTES.md`).
 */
const ours = new BoundedMap<Uint8Array, true>(8)
/** True while MCP is being written. */
let passing = false

/** Writes through all guards. */
export const pass = <W>(
  stdout: { write(text: string, encoding: "utf8", written: W): boolean },
  text: string,
  written: W
): boolean => {
  passing = true
  try {
    return stdout.write(text, "utf8", written)
  } finally {
    passing = false
  }
}

/**
 * Turns the guard on until the scope closes. Returns a function that encodes text so that it may pass. Without a process, it only encodes.
 */
export const guardStdout: Effect.Effect<(text: string) => Uint8Array, never, Scope.Scope> = Effect.gen(function* () {
  const global: unknown = globalThis
  if (hasProcess(global)) {
    const { stdout, stderr } = global.process
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const original = stdout.write
        const write: typeof stdout.write = (chunk, ...rest) => {
          if (passing) return original.call(stdout, chunk, ...rest)
          if (typeof chunk === "string" || !ours.has(chunk)) return stderr.write(chunk, ...rest)
          const room = original.call(stdout, chunk, ...rest)
          ours.delete(chunk)
          return room
        }
        stdout.write = write
        return original
      }),
      (original) =>
        Effect.sync(() => {
          stdout.write = original
        })
    )
  }
  return (text) => {
    const bytes = encoder.encode(text)
    ours.set(bytes, true)
    return bytes
  }
})
