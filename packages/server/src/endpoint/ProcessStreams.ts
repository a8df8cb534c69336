/**
 * The standard streams of this process by their own callbacks (Node's; Bun and Deno have the same): what stdio is served over where
 * nobody provides a `Stdio`.
 *
 * The fast path of `endpoint/Stdio`. Through a stream and a sink of Effect a lone request costs half as much again, nearly all of it
 * for waking the fibers that read and write. A test holds both against the same conversations.
 */
import type * as Duplex from "@effect-mcp/core/Duplex"
import * as Listen from "@effect-mcp/core/Listen"
import type * as Outbox from "@effect-mcp/core/Outbox"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import { pass } from "./StdoutGuard.ts"

/** What an emitter calls its listeners with is up to the event: the boundary to Node's own types. */
// oxlint-disable-next-line typescript/no-explicit-any
type Listener = (value?: any) => void
interface Emitter {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}
/** What is used of a Readable. */
export interface Readable extends Emitter {
  readonly pause: () => unknown
  readonly readableEnded: boolean
}
/** What is used of a Writable. */
export interface Writable extends Emitter {
  readonly closed: boolean
  write(text: string, encoding: undefined, written: (error?: Error | null) => void): boolean
}

/** Calls the listeners until one says that it is over. */
const listening = <A>(
  emitter: Emitter,
  listeners: (over: (how: Effect.Effect<A, TransportError>) => void) => Readonly<Record<string, Listener>>
): Effect.Effect<A, TransportError> =>
  Effect.suspend(() => {
    let added: ReadonlyArray<readonly [string, Listener]> = []
    return Effect.ensuring(
      Effect.callback<A, TransportError>((over) => {
        added = Object.entries(listeners(over))
        for (const [event, listener] of added) emitter.on(event, listener)
      }),
      Effect.sync(() => {
        for (const [event, listener] of added) emitter.off(event, listener)
      })
    )
  })

const listenTo =
  (stdin: Readable): Listen.Listen<Uint8Array, TransportError> =>
  (take) => {
    const broken = (cause?: unknown) =>
      Effect.fail(new TransportError({ reason: "Read", message: "stdin is broken", cause }))
    const reading = Effect.suspend(() =>
      stdin.readableEnded
        ? Effect.void
        : listening<void>(stdin, (over) => ({
            data: (chunk: Uint8Array) => {
              try {
                take(chunk)
              } catch (defect) {
                over(Effect.die(defect))
              }
            },
            end: () => over(Effect.void),
            error: (cause: unknown) => over(broken(cause)),
            close: () => over(broken())
          }))
    )
    // Nobody listens any more: the process need not stay for it.
    return Effect.ensuring(
      reading,
      Effect.sync(() => void stdin.pause())
    )
  }

const writerOf = (stdout: Writable): Outbox.Writer => {
  let over: (how: Effect.Effect<void, TransportError>) => void = () => {}
  let waiting: (() => void) | undefined
  const broken = (cause?: unknown) =>
    over(Effect.fail(new TransportError({ reason: "Write", message: "stdout is closed", cause })))
  const written = (error?: Error | null) => {
    // A stream that is closed already has no event for it; the others have, and need somebody who listens.
    if (error != null && stdout.closed) broken(error)
  }
  return {
    write: (text, taken) => {
      if (pass(stdout, text, written)) taken()
      else waiting = taken
    },
    end: () => over(Effect.void),
    run: listening<void>(stdout, (resume) => {
      over = resume
      const drained = () => {
        const taken = waiting
        waiting = undefined
        taken?.()
      }
      return { error: broken, close: () => broken(), drain: drained }
    })
  }
}

/** Both streams as bytes. */
export const bytes = (stdin: Readable, stdout: Writable): Duplex.Bytes => ({
  incoming: Listen.make(listenTo(stdin)),
  write: writerOf(stdout)
})

const isProcess = (
  global: unknown
): global is { readonly process: { readonly stdin: Readable; readonly stdout: Writable } } =>
  typeof global === "object" &&
  global !== null &&
  "process" in global &&
  typeof global.process === "object" &&
  global.process !== null &&
  "stdin" in global.process &&
  "stdout" in global.process

/** The streams of this process. A runtime that has none must provide a `Stdio`: a defect. */
export const ofProcess: Effect.Effect<Duplex.Bytes> = Effect.suspend(() => {
  const global: unknown = globalThis
  return isProcess(global)
    ? Effect.succeed(bytes(global.process.stdin, global.process.stdout))
    : Effect.die(new Error("There is neither a Stdio nor a process that has one"))
})
