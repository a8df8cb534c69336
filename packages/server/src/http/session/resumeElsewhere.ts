/**
 * Resumes a stream of a node that is gone (spec 2025-11-25: basic/transports, resumability and redelivery): its events are those that the
 * store has, and its requests have ended with that node.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type Event, EventsGone, type EventStore } from "../../session/EventStore.ts"
import { refuse } from "../response/Responses.ts"
import { answeredIn } from "./answeredIn.ts"
import { RelayedStream } from "./RelayedStream.ts"
import { requestsOf } from "./ResumableStream.ts"
import type { Cursor } from "./StreamName.ts"

/** How long the store may take. */
const readTimeout = "10 seconds"

const storeFailed = refuse(503, McpError.internalError("The events cannot be read"), undefined, { "retry-after": "1" })

/** The response where the store failed, which is logged. */
export const failedStore = (defect: unknown) =>
  Effect.as(Effect.logError("The event store failed", defect), storeFailed)

/** The error for a request that ran on a node that is gone. */
export const nodeGone = McpError.interrupted("The node that ran this request is gone: it may have run in part")

const textOf = (events: ReadonlyArray<Event>): string => events.map(({ text }) => text).join("")

/** Dies where the store fails, or takes too long. */
const read = (
  store: EventStore["Service"],
  session: string,
  stream: string,
  seq: number
): Effect.Effect<ReadonlyArray<Event>, EventsGone> =>
  store.after({ session, stream }, seq).pipe(
    Effect.filterOrFail(
      (events) => events.every((event, at) => event.seq === seq + 1 + at),
      () => new EventsGone({ message: "Not all of these events were kept" })
    ),
    Effect.timeoutOrElse({
      duration: readTimeout,
      orElse: () => Effect.die(new Error("The event store does not answer"))
    })
  )

/** The events of a standalone GET stream after a place, as text. */
export const missedOf = (store: EventStore["Service"], session: string, cursor: Cursor) =>
  Effect.map(read(store, session, cursor.stream, cursor.seq), textOf)

/** The rest of the stream of a POST: the events after a place, and an error for each request that they do not answer. */
export const restOf = (
  store: EventStore["Service"],
  session: string,
  cursor: Cursor
): Effect.Effect<RelayedStream, EventsGone> =>
  Effect.flatMap(read(store, session, cursor.stream, -1), (events) => {
    const [first] = events
    const requests = first && requestsOf(first)
    if (requests === undefined) return Effect.fail(new EventsGone({ message: "The first event was not kept" }))
    const answered = answeredIn(textOf(events))
    const stream = new RelayedStream(requests.filter((id) => !answered.has(id)))
    stream.events(textOf(events.filter(({ seq }) => seq > cursor.seq)))
    stream.cut(nodeGone)
    return Effect.succeed(stream)
  })
