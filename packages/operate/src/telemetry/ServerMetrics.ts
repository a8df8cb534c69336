/** Server metrics, implemented as an observer. Gauges are only read when metrics are exported. */
import { transportAttributes } from "@effect-mcp/core/internal/peers"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Observed, Observer } from "@effect-mcp/server/Observer"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type MetricInfo, serverMetrics, sum, value } from "./Names.ts"
import { count, type OpenCounts } from "./openCounts.ts"
import { Operations, other, sessionAttributes, versionOf } from "./Operations.ts"
import { read } from "./read.ts"
import { ownContext, Series, SeriesLimit } from "./Series.ts"
import * as TaskMetrics from "./TaskMetrics.ts"

export interface Options {
  /** Whether to include tool and prompt names in series. Default true. */
  readonly targets?: boolean | undefined
  /** Maximum number of series. Beyond it, targets and errors are omitted. Default 2000. */
  readonly maxSeries?: number | undefined
}

/** Rejection reasons by a request's `error.type`, for any transport. */
const reasons: Readonly<Record<string, string>> = { [McpError.LimitExceeded]: "limit" }

/** Additional reasons, used if there is no HTTP status. */
const reasonsWithoutHttp: Readonly<Record<string, string>> = {
  ...reasons,
  [McpError.Unauthorized]: "unauthorized",
  [McpError.Forbidden]: "forbidden"
}

const reasonsOfStatus: Readonly<Record<number, string>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "no_session",
  405: "http_method",
  406: "not_acceptable",
  413: "too_large",
  415: "media_type",
  429: "limit",
  500: "failed",
  503: "unavailable"
}

/** Bytes carried by closed transports and by HTTP. */
interface Carried {
  received: number
  sent: number
}

const gauges = (servers: ReadonlySet<Observed>, closed: Carried, context: Context.Context<never>) => {
  const gauge = (info: MetricInfo, get: (counts: OpenCounts) => number) =>
    read(value(info), context, () => ({ value: get(count(servers)) }))
  const io = (direction: "receive" | "transmit", of: keyof Carried) =>
    read(sum(serverMetrics.io, { "network.io.direction": direction }), context, () => {
      let bytes = closed[of]
      for (const { sessions } of servers) for (const { traffic } of sessions) bytes += traffic?.[of] ?? 0
      return { count: bytes, incremental: true }
    })
  return Effect.all(
    [
      gauge(serverMetrics.sessions, ({ sessions }) => sessions),
      gauge(serverMetrics.active, ({ active }) => active),
      gauge(serverMetrics.pending, ({ pending }) => pending),
      gauge(serverMetrics.subscriptions, ({ subscriptions }) => subscriptions),
      gauge(serverMetrics.questions, ({ questions }) => questions),
      gauge(serverMetrics.backlog, ({ backlog }) => backlog),
      gauge(serverMetrics.unkept, ({ unkept }) => unkept),
      read(sum(serverMetrics.lostLeases, {}), context, () => {
        const counts = Array.from(servers, ({ nodes }) => nodes?.directory.lostLeases ?? 0)
        return { count: counts.reduce((one, two) => one + two, 0), incremental: true }
      }),
      io("receive", "received"),
      io("transmit", "sent")
    ],
    { discard: true }
  )
}

export const make = ({ maxSeries = 2000, targets = true }: Options): Effect.Effect<Observer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* ownContext
    const servers = new Set<Observed>()
    const closed: Carried = { received: 0, sent: 0 }
    yield* gauges(servers, closed, context)
    const clock = yield* Clock.Clock
    yield* TaskMetrics.gauges(servers, clock, context)
    return observer({ context, clock, targets, limit: new SeriesLimit(maxSeries), servers, closed })
  })

interface Parts {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly targets: boolean
  readonly limit: SeriesLimit
  /** The observed servers. */
  readonly servers: Set<Observed>
  readonly closed: Carried
}

const observer = ({ clock, closed, context, limit, servers, targets }: Parts): Observer => {
  const operations = new Operations(serverMetrics.operation, targets, limit, context)
  const questions = new Operations(serverMetrics.question, targets, limit, context)
  const queued = new Series(serverMetrics.queued, ["mcp.method.name"], 1, limit, context)
  const lasted = new Series(serverMetrics.session, sessionAttributes, sessionAttributes.length, limit, context)
  const refusals = new Series(serverMetrics.refusals, ["reason"], 1, limit, context)
  // Prometheus misses the first increase of a series that appears with it.
  for (const reason of ["limit", "unauthorized"]) refusals.record(0, reason)
  const notifications = new Series(serverMetrics.notifications, ["mcp.method.name"], 1, limit, context)
  return {
    ...TaskMetrics.observer(targets, limit, context),
    request: ({ duration, request: { method, params }, revision, transport, waited }, exit) => {
      const error = operations.record(method, params, revision, transport, duration, exit)
      if (waited > 0) queued.record(waited / 1000, MethodInfo.ofRequest(method) === undefined ? other : method)
      if (error === undefined) return
      const reason = (transport === "http" || transport === "sse" ? reasons : reasonsWithoutHttp)[error]
      if (reason !== undefined) refusals.record(1, reason)
    },
    question: ({ duration, method, params, session }, exit) => {
      questions.record(method, params, session.negotiated?.revision.version, session.kind, duration, exit)
    },
    notification: ({ method }) =>
      notifications.record(1, Object.hasOwn(MethodInfo.clientNotifications, method) ? method : other),
    refused: ({ status }) => refusals.record(1, reasonsOfStatus[status] ?? "other"),
    carried: (received, sent) => {
      closed.received += received
      closed.sent += sent
    },
    closed: ({ kind, negotiated, openedAt, sessionless, traffic }) => {
      closed.received += traffic?.received ?? 0
      closed.sent += traffic?.sent ?? 0
      if (sessionless) return
      const network = transportAttributes(kind)
      const duration = (clock.currentTimeMillisUnsafe() - openedAt) / 1000
      const version = versionOf(negotiated?.revision.version)
      lasted.record(duration, version, network["network.transport"], network["network.protocol.name"])
    },
    serves: (observed) =>
      Effect.acquireRelease(
        Effect.sync(() => void servers.add(observed)),
        () => Effect.sync(() => servers.delete(observed))
      )
  }
}
