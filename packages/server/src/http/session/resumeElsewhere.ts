/**
 * Resumes a stream of a node that is gone (spec 2025-11-25: basic/transports, resumability and redelivery): its events are those that the
 * store has, and its requests have ended with that node.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type Event, EventsGone, type EventStore } from "../../session/EventStore.ts"
import type { SseBody } from "../response/SseBody.ts"
import { refuse } from "../response/Responses.ts"
import { answeredIn } from "./answeredIn.ts"
import { RelayedStream } from "./RelayedStream.ts"
import { requestsOf, type ResumableStream } from "./ResumableStream.ts"
import { type EventCursor, epochOf, getStream, nameIn } from "./StreamName.ts"

/** A session as this module sees it. */
interface Opened {
  readonly id: string
  readonly epoch: number
}

/** How long the store may take. */
const readTimeout = "10 seconds"

const storeFailed = refuse(
  503,
  McpError.interrupted("The events cannot be read now: resume the stream again"),
  undefined,
  { "retry-after": "1" }
)

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

/** All events of a stream; none where it never had one. */
const all = (store: EventStore["Service"], session: string, stream: string) =>
  // A stream that has dropped its oldest events still has the newest.
  Effect.matchEffect(store.after({ session, stream }, Number.MAX_SAFE_INTEGER - 1), {
    onFailure: () => Effect.succeed([]),
    onSuccess: () => read(store, session, stream, -1)
  })

/** The events of standalone GET streams after a place, as text: of the epoch of that place, and of those before this one. */
export const missedOf = (store: EventStore["Service"], { epoch, id }: Opened, cursor: EventCursor) => {
  const first = epochOf(cursor.stream) + 1
  const between = Array.from({ length: epoch - first }, (_, at) => all(store, id, nameIn(first + at, getStream)))
  return Effect.map(Effect.all([read(store, id, cursor.stream, cursor.seq), ...between]), (parts) =>
    parts.map(textOf).join("")
  )
}

/** Has a body of the standalone GET stream begin with what was missed, and with all that this node has sent on it. */
export const resumeAll = (stream: ResumableStream, body: SseBody, missed: string): Effect.Effect<void, EventsGone> =>
  Effect.map(stream.has(0) ? stream.resume(body, -1) : Effect.void, () => {
    body.prefix = missed + body.prefix
  })

/** What is kept of the stream of a POST: all, or the event of a place and those after it, or those after it. */
const keptOf = (store: EventStore["Service"], session: string, { seq, stream }: EventCursor) => {
  const from = (place: number) => read(store, session, stream, place)
  return Effect.catch(from(-1), () => Effect.catch(from(seq - 1), () => from(seq)))
}

/**
 * The rest of the stream of a POST: the events after a place, and an error for each request that they do not answer. Where the first events
 * of a batch are not kept, a request that they answer gets an error too.
 */
export const restOf = (
  store: EventStore["Service"],
  session: string,
  cursor: EventCursor
): Effect.Effect<RelayedStream, EventsGone> =>
  Effect.flatMap(keptOf(store, session, cursor), (events) => {
    const [first] = events
    const requests = first && requestsOf(first)
    if (requests === undefined)
      return Effect.fail(new EventsGone({ message: "No event that names the requests was kept" }))
    const answered = answeredIn(textOf(events))
    const stream = new RelayedStream(requests.filter((id) => !answered.has(id)))
    stream.events(textOf(events.filter(({ seq }) => seq > cursor.seq)))
    stream.cut(nodeGone)
    return Effect.succeed(stream)
  })
