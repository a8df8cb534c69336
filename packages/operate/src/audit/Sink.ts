/**
 * Where the lines of an audit trail go: a file, a Stream, an array. A sink of one's own is a layer of `Sink`.
 *
 * Sinks append, and never change a line.
 */
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

/** The sink cannot be read or written. */
export class SinkError extends Data.TaggedError("SinkError")<{ readonly message: string; readonly cause?: unknown }> {}

/** Where a sink ends. `torn`: after a line that was not written to its end. */
export interface SinkEnding {
  readonly tail: chain.Tail
  readonly torn: boolean
}

/** What holds the lines. */
export class AuditSink extends Context.Service<
  AuditSink,
  {
    /** Where the lines end that it holds already; undefined where there are none, or where it does not know. */
    readonly ending: Effect.Effect<SinkEnding | undefined, SinkError>
    /** Appends lines, which have no newlines, in this order. Where it fails it is given the same lines again, and has each of them once. */
    readonly append: (lines: ReadonlyArray<string>) => Effect.Effect<void, SinkError>
  }
>()("@effect-mcp/operate/Audit/Sink") {}

/** The most that a line may have, in bytes: the end of a file is read to continue its chain. */
const lastBytes = 256n * 1024n

const failed = (path: string) => (cause: PlatformError) =>
  new SinkError({ message: `The audit file ${JSON.stringify(path)} cannot be used: ${cause.message}`, cause })

/**
 * Appends to a file, which only its owner may read (mode 600) where it is new. `sync`: whether each write waits until it is on the disk.
 * Default true. One process writes to a file.
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
      /** Where lines begin whose write has failed: a disk that is full takes some of them. */
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

/** Where the chain in the last part of a file ends. */
const endingOf = (path: string, text: string): Effect.Effect<SinkEnding, SinkError> => {
  const torn = !text.endsWith("\n")
  for (const line of text.split("\n").toReversed()) {
    const linked = chain.read(line)
    if (linked !== undefined) return Effect.succeed({ tail: { seq: linked.seq, hash: linked.hash }, torn })
  }
  const message = `${JSON.stringify(path)} has no record of an audit trail at its end: name another file`
  return Effect.fail(new SinkError({ message }))
}

/**
 * Hands each line to `consume` as a Stream, which has to keep up: while it does not pull, the trail is full.
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
      const fiber = yield* Effect.forkScoped(consume(Stream.fromQueue(queue)))
      const over = Effect.flatMap(Fiber.await(fiber), (exit) =>
        Effect.fail(new SinkError({ message: "The consumer of the audit trail has ended", cause: exit }))
      )
      return {
        ending: Effect.undefined,
        append: (lines) => Effect.raceFirst(Effect.asVoid(Queue.offerAll(queue, lines)), over)
      }
    })
  )

/** Pushes each line to the array, for tests. */
export const layerArray = (lines: Array<string>): Layer.Layer<AuditSink> =>
  Layer.succeed(AuditSink, {
    ending: Effect.sync(() => {
      const last = chain.read(lines.at(-1) ?? "")
      return last && { tail: { seq: last.seq, hash: last.hash }, torn: false }
    }),
    append: (added) => Effect.sync(() => void lines.push(...added))
  })
