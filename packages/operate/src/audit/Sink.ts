/**
 * Where an audit trail writes its lines: a file, a Stream or an array. For any other destination, provide a layer of `Sink`.
 *
 * Sinks only ever append lines.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as chain from "./chain.ts"

/** The sink can't be read or written. */
export class SinkError extends Data.TaggedError("SinkError")<{ readonly message: string; readonly cause?: unknown }> {}

/** The end of a sink. `torn` is true if the last line is incomplete. */
export interface SinkEnding {
  readonly tail: chain.Tail
  readonly torn: boolean
}

/** Stores the lines. */
export class AuditSink extends Context.Service<
  AuditSink,
  {
    /** The end of the existing lines, or `undefined` if there are none or the sink can't tell. */
    readonly ending: Effect.Effect<SinkEnding | undefined, SinkError>
    /**
     * Appends lines without newlines, in order. After a failure it is called with the same lines again, and must store each line only once.
     */
    readonly append: (lines: ReadonlyArray<string>) => Effect.Effect<void, SinkError>
  }
>()("@effect-mcp/operate/Audit/Sink") {}

/** Maximum length of a line in bytes, because the end of a file is read to continue its chain. */
const lastBytes = 256n * 1024n

const failed = (path: string) => (cause: PlatformError) =>
  new SinkError({ message: `Cannot use the audit file ${JSON.stringify(path)}: ${cause.message}`, cause })

/**
 * Appends to a file. New files have mode 600. With `sync` (the default), each write waits until it is on disk. Only one process may write
 * to a file.
 */
export const layerFile = (
  path: string,
  { sync = true }: { readonly sync?: boolean | undefined } = {}
): Layer.Layer<AuditSink, SinkError, FileSystem.FileSystem> =>
  Layer.effect(
    AuditSink,
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const file = yield* Effect.mapError(files.open(path, { flag: "a", mode: 0o600 }), failed(path))
      const ending = Effect.scoped(
        Effect.gen(function* () {
          const { size } = yield* file.stat
          if (size === 0n) return undefined
          const reader = yield* files.open(path, { flag: "r" })
          const length = size < lastBytes ? size : lastBytes
          yield* reader.seek(size - length, "start")
          const bytes = Option.getOrElse(yield* reader.readAlloc(Number(length)), () => new Uint8Array())
          return yield* endingOf(path, new TextDecoder().decode(bytes))
        })
      )
      /** Position of a failed write, because a full disk may have stored part of it. */
      let begun: bigint | undefined
      const append = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
        const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""))
        const { size } = yield* file.stat
        begun ??= size
        yield* file.writeAll(bytes.subarray(Math.max(0, Number(size - begun))))
        if (sync) yield* file.sync
        begun = undefined
      })
      return {
        ending: Effect.catchTag(ending, "PlatformError", (error) => Effect.fail(failed(path)(error))),
        append: (lines) => Effect.mapError(append(lines), failed(path))
      }
    })
  )

/** Reads the chain's end from the last part of a file. */
const endingOf = (path: string, text: string): Effect.Effect<SinkEnding, SinkError> => {
  const torn = !text.endsWith("\n")
  for (const line of text.split("\n").toReversed()) {
    const linked = chain.read(line)
    if (linked !== undefined) return Effect.succeed({ tail: { seq: linked.seq, hash: linked.hash }, torn })
  }
  const message = `${JSON.stringify(path)} does not end with an audit record. Use a different file`
  return Effect.fail(new SinkError({ message }))
}

/**
 * Passes each line to `consume` as a Stream. If the consumer can't keep up, the trail's queue fills up.
 *
 * @example
 * ```ts
 * import { Audit } from "@effect-mcp/operate"
 * import { Console, Stream } from "effect"
 *
 * export const sink = Audit.layerStream((lines) => Stream.runForEach(lines, (line) => Console.error(line)))
 * ```
 */
export const layerStream = <E, R>(
  consume: (lines: Stream.Stream<string>) => Effect.Effect<void, E, R>
): Layer.Layer<AuditSink, never, R> =>
  Layer.effect(
    AuditSink,
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<string>(1)
      const fiber = yield* Effect.forkScoped(
        effectOf("The consumer of the audit trail", () => consume(Stream.fromQueue(queue)))
      )
      const over = Effect.flatMap(Fiber.await(fiber), (exit) =>
        Effect.fail(new SinkError({ message: "The consumer of the audit trail stopped", cause: exit }))
      )
      return {
        ending: Effect.undefined,
        append: (lines) => Effect.raceFirst(Effect.asVoid(Queue.offerAll(queue, lines)), over)
      }
    })
  )

/** Pushes each line to the array. For tests. */
export const layerArray = (lines: Array<string>): Layer.Layer<AuditSink> =>
  Layer.succeed(AuditSink, {
    ending: Effect.sync(() => {
      const last = chain.read(lines.at(-1) ?? "")
      return last && { tail: { seq: last.seq, hash: last.hash }, torn: false }
    }),
    append: (added) => Effect.sync(() => void lines.push(...added))
  })
