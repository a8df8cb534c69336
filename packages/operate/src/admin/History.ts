/** The last requests, questions and notifications of a server that have ended, for the timeline of a session. */
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
import { Ring } from "./Ring.ts"
import { idOf } from "./Snapshot.ts"

/** One of them. It has no arguments and no results. */
export const Ended = Schema.Struct({
  /** The session as in a `Snapshot`; none for a POST without one. */
  session: Schema.optional(Schema.String),
  kind: Schema.Literals(["request", "question", "notification"]),
  method: Schema.String,
  target: Schema.optional(Schema.String),
  /** As in an audit trail. */
  outcome: Schema.optional(Schema.String),
  code: Schema.optional(Schema.Finite),
  /** Why the operator interrupted it. */
  reason: Schema.optional(Schema.String),
  /** Milliseconds since the epoch. */
  from: Schema.Finite,
  to: Schema.Finite
})
export type Ended = typeof Ended.Type

export class History extends Context.Service<
  History,
  {
    /** Those of one session, or without one, the oldest first. */
    readonly of: (session: string | undefined) => ReadonlyArray<Ended>
  }
>()("@effect-mcp/operate/Admin/History") {}

export interface Options {
  /** How many are kept, of all sessions. Default 5000. */
  readonly capacity?: number | undefined
}

/** What is kept of an end: the id of a session over HTTP is turned into its digest when it is read. */
interface Kept {
  readonly session: string | undefined
  readonly ended: Ended
}

const observer = (ring: Ring<Kept>, clock: Clock.Clock): Observer => {
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
    ring.push({
      session: session === undefined || session.sessionless ? undefined : idOf(session),
      ended: {
        kind,
        method: beginning(method),
        ...(target === undefined ? undefined : { target }),
        ...(exit === undefined ? undefined : outcomeOf(exit, interrupted)),
        ...(interrupted === undefined ? undefined : { reason: interrupted }),
        from: to - duration,
        to
      }
    })
  }
  return {
    request: ({ duration, interrupted, request, session }, exit) =>
      push("request", session, request, duration, exit, interrupted),
    question: (end, exit) => push("question", end.session, { method: end.method }, end.duration, exit),
    notification: ({ method }, session) => push("notification", session, { method }, 0)
  }
}

/** Given to a server and to its `Admin.layer`, which then shows what has ended, too. */
export const layer = ({ capacity = 5000 }: Options = {}): Layer.Layer<History | Observers> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const ring = new Ring<Kept>(capacity)
      const of = (session: string | undefined) =>
        ring.all().flatMap((kept) => (kept.session === session ? { ...kept.ended, session } : []))
      return Context.merge(Context.make(History, { of }), service(observer(ring, yield* Clock.Clock)))
    })
  )
