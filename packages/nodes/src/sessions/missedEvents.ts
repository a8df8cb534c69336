/**
 * Resumes a stream whose node is gone (spec 2025-11-25: basic/transports, resumability and redelivery). Its events come from the store, and
 * its requests ended with that node.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { type Event, EventsGone, type EventStore } from "@effect-mcp/server/EventStore"
import {
  epochOf,
  type EventCursor,
  getStream,
  type HeldSession,
  isGetStream,
  nameIn,
  requestsOf
} from "@effect-mcp/server/internal/sharing"
import { answeredIn } from "./answeredIn.ts"

/** How long the store may take. */
const readTimeout = "10 seconds"

/** Error for a request that was running on a node that is gone. */
export const nodeGone = McpError.interrupted(
  "The node that ran this request is gone. The request may have run partially"
)

const textOf = (events: ReadonlyArray<Event>): string => events.map(({ text }) => text).join("")

/** Dies if the store fails or times out. */
const read = (
  store: EventStore["Service"],
  session: string,
  stream: string,
  seq: number
): Effect.Effect<ReadonlyArray<Event>, EventsGone> =>
  store.after({ session, stream }, seq).pipe(
    Effect.filterOrFail(
      (events) => events.every((event, at) => event.seq === seq + 1 + at),
      () => new EventsGone({ message: "Some of these events are no longer stored" })
    ),
    Effect.timeoutOrElse({
      duration: readTimeout,
      orElse: () => Effect.die(new Error("The event store did not respond"))
    })
  )

/** Returns all of a stream's events, or an empty list if it never had any. */
const all = (store: EventStore["Service"], session: string, stream: string) =>
  // A stream that has dropped its oldest events still has the newest.
  Effect.matchEffect(store.after({ session, stream }, Number.MAX_SAFE_INTEGER - 1), {
    onFailure: () => Effect.succeed([]),
    onSuccess: () => read(store, session, stream, -1)
  })

/**
 * Returns the events of standalone GET streams after a position, as text. It includes the position's epoch and all later epochs before the
 * session's current one.
 */
const missedOf = (store: EventStore["Service"], { epoch, id }: HeldSession, cursor: EventCursor) => {
  const first = epochOf(cursor.stream) + 1
  const between = Array.from({ length: epoch - first }, (_, at) => all(store, id, nameIn(first + at, getStream)))
  return Effect.map(Effect.all([read(store, id, cursor.stream, cursor.seq), ...between]), (parts) =>
    parts.map(textOf).join("")
  )
}

/** Returns a POST stream's stored events: all of them, those from a given event on, or only later ones. */
const keptOf = (store: EventStore["Service"], session: string, { seq, stream }: EventCursor) => {
  const from = (place: number) => read(store, session, stream, place)
  return Effect.catch(from(-1), () => Effect.catch(from(seq - 1), () => from(seq)))
}

/**
 * Returns the rest of a POST stream: the events after a position, and an error for each request that they don't respond to. If the first
 * events of a batch are lost, the requests that they responded to receive an error too.
 */
const restOf = (
  store: EventStore["Service"],
  session: string,
  cursor: EventCursor
): Effect.Effect<string, EventsGone> =>
  Effect.flatMap(keptOf(store, session, cursor), (events) => {
    const [first] = events
    const requests = first && requestsOf(first)
    if (requests === undefined)
      return Effect.fail(new EventsGone({ message: "The event that lists the stream's requests is not stored" }))
    const answered = answeredIn(textOf(events))
    const unanswered = requests.filter((id) => !answered.has(id))
    const failures = unanswered.map((id) => `data: ${JsonRpc.encode(JsonRpc.failure(id, nodeGone))}\n\n`)
    return Effect.succeed(textOf(events.filter(({ seq }) => seq > cursor.seq)) + failures.join(""))
  })

/** Returns the events that follow a given event on a stream that another node started. */
export const missedEvents = (
  store: EventStore["Service"] | undefined,
  session: HeldSession,
  cursor: EventCursor
): Effect.Effect<string, EventsGone> => {
  if (store === undefined) return Effect.fail(new EventsGone({ message: "This server does not store events" }))
  return isGetStream(cursor.stream) ? missedOf(store, session, cursor) : restOf(store, session.id, cursor)
}
