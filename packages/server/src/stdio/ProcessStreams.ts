/**
 * This process's standard streams, through their own callbacks (Node, Bun and Deno). They are the stdio transport unless a `Stdio` is
 * provided.
 *
 * This is the fast path for `Stdio`. With an Effect stream and sink, a lone request costs half as much again, because the reading and
 * writing fibers have to be woken (`packages/bench/NOTES.md`). A test exchanges the same messages over both.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import type * as Outbox from "@effect-mcp/core/Outbox"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import { pass } from "./StdoutGuard.ts"

/** A listener's argument depends on the event. Node's own types end here. */
// oxlint-disable-next-line typescript/no-explicit-any
type Listener = (value?: any) => void
interface Emitter {
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
}
/** The members of a Readable that this module uses. */
interface Readable extends Emitter {
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly readableEnded: boolean
  readonly destroyed: boolean
}
/** The members of a Writable that this module uses. */
interface Writable extends Emitter {
  readonly closed: boolean
  /** Number of bytes that are not written yet. */
  readonly writableLength: number
  write(text: string, encoding: "utf8", written: ((error?: Error | null) => void) | undefined): boolean
  readonly cork: () => void
  readonly uncork: () => void
}

/** Adds the listeners, and removes them when one of them ends the effect. */
const listening = <A>(
  emitter: Emitter,
  listeners: (over: (how: Effect.Effect<A, TransportError>) => void) => Readonly<Record<string, Listener>>,
  start: () => void = () => {}
): Effect.Effect<A, TransportError> =>
  Effect.suspend(() => {
    let added: ReadonlyArray<readonly [string, Listener]> = []
    return Effect.ensuring(
      Effect.callback<A, TransportError>((over) => {
        added = Object.entries(listeners(over))
        for (const [event, listener] of added) emitter.on(event, listener)
        start()
      }),
      Effect.sync(() => {
        for (const [event, listener] of added) emitter.off(event, listener)
      })
    )
  })

type Within = <A>(run: (item: A) => void, item: A) => void

/** Restores the caller's `AsyncLocalStorage` in callbacks, because the process calls them without it. */
const here = (): Within => {
  const { process } = globalThis as Partial<Global> // other runtimes lack it
  const hooks = process?.getBuiltinModule?.("node:async_hooks")
  if (hooks === undefined) return (run, item) => run(item)
  // Like `AsyncLocalStorage.snapshot`, without its two extra calls (`packages/bench/NOTES.md`).
  const place = new hooks.AsyncResource("effect-mcp")
  return (run, item) => place.runInAsyncScope(run, undefined, item)
}

const encoder = new TextEncoder()

const listenTo =
  (stdin: Readable): Parameters<typeof Duplex.fromCallback>[0] =>
  (receive) => {
    const broken = (cause?: unknown) =>
      Effect.fail(new TransportError({ reason: "Read", message: "Failed to read stdin", cause }))
    const reading = Effect.suspend(() => {
      if (stdin.readableEnded) return Effect.void
      // A destroyed stream emits no event for its end.
      if (stdin.destroyed) return broken()
      const within = here()
      return listening<void>(
        stdin,
        (over) => ({
          data: (chunk: Uint8Array | string) => {
            try {
              // A chunk is text if the process has set an encoding.
              within(receive, typeof chunk === "string" ? encoder.encode(chunk) : chunk)
            } catch (defect) {
              over(Effect.die(defect))
            }
          },
          end: () => over(Effect.void),
          error: (cause: unknown) => over(broken(cause)),
          close: () => over(broken())
        }),
        // The stream may be paused, for example by an earlier reader.
        () => void stdin.resume()
      )
    })
    // A paused stream does not keep the process alive.
    return Effect.ensuring(
      reading,
      Effect.sync(() => void stdin.pause())
    )
  }

/** From this size on, text and newline are two writes under one cork, because joining them would copy the text. */
const largeText = 16 * 1024

/** Writes the lines and the final newline. Returns false if there is no more room. */
const writeLines = (stdout: Writable, text: string, written: (error?: Error | null) => void): boolean => {
  if (text.length < largeText) return pass(stdout, `${text}\n`, written)
  stdout.cork()
  try {
    pass(stdout, text, undefined)
    return pass(stdout, "\n", written)
  } finally {
    stdout.uncork()
  }
}

const writerOf = (stdout: Writable): Outbox.Writer => {
  let over: (how: Effect.Effect<void, TransportError>) => void = () => {}
  let waiting: (() => void) | undefined
  let ended = false
  const finished = () => {
    if (ended && !(stdout.writableLength > 0)) over(Effect.void)
  }
  const broken = (cause?: unknown) =>
    over(Effect.fail(new TransportError({ reason: "Write", message: "stdout is closed", cause })))
  const written = (error?: Error | null) => {
    if (error == null) finished()
    // A stream that is already closed emits no event. Otherwise a listener handles the event.
    else if (stdout.closed) broken(error)
  }
  return {
    write: (text, taken) => {
      if (writeLines(stdout, text, written)) taken()
      else waiting = taken
    },
    // The official clients drop progress that they read together with its answer.
    pause: (resume) => setTimeout(resume, 1),
    // The stream may still hold the last lines, and fail to write them.
    end: () => {
      ended = true
      finished()
    },
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

/** Combines both streams into a pair of byte streams. */
export const bytes = (stdin: Readable, stdout: Writable): Duplex.Bytes => ({
  ...Duplex.fromCallback(listenTo(stdin)),
  write: writerOf(stdout)
})

interface Global {
  readonly process: {
    readonly stdin: Readable
    readonly stdout: Writable
    /** Since Node 20.16 and 22.3. */
    readonly getBuiltinModule?: (name: "node:async_hooks") =>
      | {
          readonly AsyncResource: new (type: string) => {
            readonly runInAsyncScope: <A>(run: (item: A) => void, self: undefined, item: A) => void
          }
        }
      | undefined
  }
}

const isProcess = (global: unknown): global is Global =>
  typeof global === "object" &&
  global !== null &&
  "process" in global &&
  typeof global.process === "object" &&
  global.process !== null &&
  "stdin" in global.process &&
  "stdout" in global.process

/** This process's streams. Dies on a runtime that lacks them; provide a `Stdio` there. */
export const ofProcess: Effect.Effect<Duplex.Bytes> = Effect.suspend(() => {
  const global: unknown = globalThis
  return isProcess(global)
    ? Effect.succeed(bytes(global.process.stdin, global.process.stdout))
    : Effect.die(new Error("No Stdio service was provided, and this platform has no process.stdin"))
})
