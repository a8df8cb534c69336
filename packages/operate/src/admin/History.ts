/** A server's recently completed requests, for a session's timeline, and a record of its last 15 minutes. */
import { type Observer, type Observers, service } from "@effect-mcp/server/Observer"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Session } from "@effect-mcp/server/McpServer"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { outcomeOf, targetOf } from "../audit/entries.ts"
import { type NodeRecord, RecentRecorder } from "./Recent.ts"
import { SharedRing } from "./SharedRing.ts"
import { idOf } from "./Snapshot.ts"

/** A completed request, question or notification, without arguments and results. */
export const Ended = Schema.Struct({
  /** Session ID as in a `Snapshot`. Absent for a POST without a session. */
  session: Schema.optional(Schema.String),
  kind: Schema.Literals(["request", "question", "notification"]),
  method: Schema.String,
  target: Schema.optional(Schema.String),
  /** Outcome, as in an audit log. */
  outcome: Schema.optional(Schema.String),
  code: Schema.optional(Schema.Finite),
  /** The operator's reason for interrupting it. */
  reason: Schema.optional(Schema.String),
  /** Milliseconds since 1970. */
  from: Schema.Finite,
  to: Schema.Finite
})
export type Ended = typeof Ended.Type

export class History extends Context.Service<
  History,
  {
    /** Returns one session's events, or the events without a session, oldest first. */
    readonly of: (session: string | undefined) => ReadonlyArray<Ended>
    /** Returns the record of the last 15 minutes, with the samples after `since` in milliseconds since 1970. */
    readonly recent: (since: number) => NodeRecord
  }
>()("@effect-mcp/operate/Admin/History") {}

export interface Options {
  /** Number of events to keep across all sessions. A session with more than a quarter of them loses its own first. Default 5000. */
  readonly capacity?: number | undefined
}

/** Time between two samples. */
const second = "1 second"

/** Part of the capacity beyond which a session's own events are displaced first, so that a busy client does not displace the others'. */
const share = 0.25

const observer = (events: SharedRing<string | undefined, Ended>, clock: Clock.Clock): Observer => {
  const push = (
    kind: Ended["kind"],
    session: Session | undefined,
    { method, params = {} }: { readonly method: string; readonly params?: JsonObject | undefined },
    duration: number,
    exit?: Exit.Exit<unknown, unknown>,
    interrupted?: string
  ): void => {
    const to = clock.currentTimeMillisUnsafe()
    const target = targetOf(params)
    events.push(session === undefined || session.sessionless ? undefined : idOf(session), {
      kind,
      method: beginning(method),
      ...(target === undefined ? undefined : { target }),
      ...(exit === undefined ? undefined : outcomeOf(exit, interrupted)),
      ...(interrupted === undefined ? undefined : { reason: interrupted }),
      from: to - duration,
      to
    })
  }
  return {
    request: ({ duration, interrupted, request, session }, exit) =>
      push("request", session, request, duration, exit, interrupted),
    question: (end, exit) => push("question", end.session, { method: end.method }, end.duration, exit),
    notification: ({ method }, session) => push("notification", session, { method }, 0)
  }
}

/**
 * Records completed requests, and a few figures every second for the last 15 minutes. Provide it both to a server and to its `Admin.layer`,
 * which then shows them.
 */
export const layer = ({ capacity = 5000 }: Options = {}): Layer.Layer<History | Observers> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const events = new SharedRing<string | undefined, Ended>(capacity, capacity * share)
      const of = (session: string | undefined) => events.of(session).map((ended) => ({ ...ended, session }))
      const clock = yield* Clock.Clock
      const recorder = new RecentRecorder(clock)
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.sync(recorder.sample), second)))
      const recent = (since: number) => recorder.read(since)
      return Context.merge(
        Context.merge(Context.make(History, { of, recent }), service(observer(events, clock))),
        service(recorder.observer)
      )
    })
  )
