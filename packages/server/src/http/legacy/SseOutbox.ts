/** The outbox of one HTTP+SSE session. The unread messages of all sessions are counted together. */
import * as Outbox from "@effect-mcp/core/Outbox"
import { type Sink, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ArrivingBodies } from "../../internal/ArrivingBodies.ts"
import type { EventStream } from "../response/EventStream.ts"
import type { HeldBytes } from "./HeldBytes.ts"

/**
 * Much less than for a single connection, because there are many sessions, and bytes that wait for a long time are garbage-collected late.
 */
const defaultHighWater = 128 * 1024
const defaultControlCap = 16 * 1024 * 1024

const flooded = new TransportError({
  reason: "Overflow",
  message: "Too many messages are waiting to be read by clients"
})

/** Writes the outbox, one turn at a time. Bytes count as read once the wire asks for more, which detects slow readers. */
const writerOf =
  (stream: EventStream, onRead: (length: number) => void) =>
  (outgoing: Stream.Stream<string>): Effect.Effect<void> =>
    Effect.ensuring(
      Stream.runForEach(outgoing, (lines) =>
        Effect.suspend(() => {
          const messages = lines.split("\n").filter((line) => line !== "")
          for (const message of messages) stream.event("message", message)
          return Effect.map(stream.ready, () => onRead(messages.reduce((sum, { length }) => sum + length, 0)))
        })
      ),
      Effect.sync(() => stream.end())
    )

/** Starts the outbox in the scope. `all` counts the unread messages of all sessions, and may cut this one off. */
export const make = Effect.fnUntraced(function* (
  stream: EventStream,
  caller: string,
  all: ArrivingBodies<HeldBytes>,
  options: Outbox.Options
): Effect.fn.Return<Pick<Outbox.Outbox, "broken" | "sink">, never, Scope.Scope> {
  let pending = 0
  const onRead = (length: number): void => {
    pending -= length
    if (pending > 0) return
    all.leave(unread)
    unread.bytes = 0
  }
  const { broken, fail, sent, sink } = yield* Outbox.make(writerOf(stream, onRead), {
    ...options,
    highWater: options.highWater ?? defaultHighWater,
    controlCap: options.controlCap ?? defaultControlCap
  })
  const unread: HeldBytes = { caller, bytes: 0, cut: () => fail(flooded) }
  yield* Effect.addFinalizer(() => Effect.sync(() => all.leave(unread)))
  const send: Sink["send"] = (message, lane) => {
    const before = sent()
    sink.send(message, lane)
    const length = sent() - before
    if (length === 0) return
    if (pending === 0) all.enter(unread)
    pending += length
    all.received(unread, length)
  }
  return { broken, sink: { ...sink, send } }
})
