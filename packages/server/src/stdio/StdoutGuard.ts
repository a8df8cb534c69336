/**
 * Keeps standard output clean: while the guard is on, only text of this module's writers reaches it; all other output goes to stderr.
 *
 * Replaces `process.stdout.write`: a stray `console.log` uses no Effect service.
 */
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
 * Chunks of MCP that are not written yet: the newest few, since each is written before the next is made. Shared by all guards of the
 * process, which may be nested. A WeakSet would cost the collector more than the rest of an answer (`packages/bench/NOTES.md`).
 */
const ours = new Set<Uint8Array>()
const newest = 8
/** Whether MCP is being written. */
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

/** Turns the guard on in the scope; the function returned encodes text that passes. Without a process it only encodes. */
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
    ours.add(bytes)
    const [oldest] = ours
    if (oldest !== undefined && ours.size > newest) ours.delete(oldest)
    return bytes
  }
})
