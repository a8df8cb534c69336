/**
 * Keeps standard output clean: while it is on, only what went through `own` reaches it; everything else goes to stderr.
 *
 * The one place that touches the process: there is no Effect service for it, and a stray `console.log` knows of none.
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
 * What is ours and not yet written: the newest few, since each is written before the next is made. Shared by all guards of the process:
 * they may be nested. No WeakSet, which costs the garbage collector more than all the rest of an answer.
 */
const ours = new Set<Uint8Array>()
const newest = 8
/** What is written at this moment is ours. */
let passing = false

/** Writes through all guards. What else is printed meanwhile (by nobody: a write calls nobody) would pass, too. */
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

/** Turns the guard on in the scope; the function returned marks text as ours. Where there is no process it only encodes. */
export const guardStdout: Effect.Effect<(text: string) => Uint8Array, never, Scope.Scope> = Effect.gen(function* () {
  const global: unknown = globalThis
  if (hasProcess(global)) {
    const { stdout, stderr } = global.process
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const original = stdout.write
        stdout.write = (chunk, ...rest) => {
          if (passing) return original.call(stdout, chunk, ...rest)
          if (typeof chunk === "string" || !ours.has(chunk)) return stderr.write(chunk, ...rest)
          const room = original.call(stdout, chunk, ...rest)
          ours.delete(chunk)
          return room
        }
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
