/** Client metrics, implemented as an observer. */
import type { ClientObserver, ObservedConnection } from "@effect-mcp/client/ClientObserver"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { clientMetrics, sum, value } from "./Names.ts"
import { Operations, sessionAttributes, versionOf } from "./Operations.ts"
import { ownContext, Series, SeriesLimit } from "./Series.ts"
import { read } from "./read.ts"
import type { Options } from "./ServerMetrics.ts"

/** Guesses the transport from the address. A URL means HTTP; command lines and sockets can't be distinguished. */
const transportOf = ({ address }: ObservedConnection): string | undefined =>
  address !== undefined && /^https?:/.test(address) ? "http" : undefined

export const make = ({
  maxSeries = 2000,
  targets = true
}: Options): Effect.Effect<ClientObserver, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* ownContext
    const limit = new SeriesLimit(maxSeries)
    const operations = new Operations(clientMetrics.operation, targets, limit, context)
    const questions = new Operations(clientMetrics.question, targets, limit, context)
    const lasted = new Series(clientMetrics.session, sessionAttributes, sessionAttributes.length, limit, context)
    const reconnects = sum(clientMetrics.reconnects, {})
    const open = new Set<ObservedConnection>()
    const closed = { received: 0, sent: 0 }
    yield* gauges(open, closed, context)
    return {
      request: ({ duration, method, params }, exit, connection) => {
        operations.record(method, params, connection.revision, transportOf(connection), duration, exit)
      },
      question: ({ duration, request: { method, params } }, exit, connection) => {
        questions.record(method, params, connection.revision, transportOf(connection), duration, exit)
      },
      opened: (connection) => void open.add(connection),
      closed: (connection, duration) => {
        open.delete(connection)
        closed.received += connection.traffic?.received ?? 0
        closed.sent += connection.traffic?.sent ?? 0
        const isHttp = transportOf(connection) === "http"
        lasted.record(
          duration / 1000,
          versionOf(connection.revision),
          isHttp ? "tcp" : undefined,
          isHttp ? "http" : undefined
        )
      },
      reconnected: () => reconnects.updateUnsafe(1, context)
    }
  })

const gauges = (
  open: ReadonlySet<ObservedConnection>,
  closed: { readonly received: number; readonly sent: number },
  context: Context.Context<never>
) => {
  const io = (direction: "receive" | "transmit", of: "received" | "sent") =>
    read(sum(clientMetrics.io, { "network.io.direction": direction }), context, () => {
      let bytes = closed[of]
      for (const { traffic } of open) bytes += traffic?.[of] ?? 0
      return { count: bytes, incremental: true }
    })
  const waiting = () => {
    let requests = 0
    for (const { outstanding } of open) requests += outstanding()
    return { value: requests }
  }
  return Effect.all(
    [
      read(value(clientMetrics.sessions), context, () => ({ value: open.size })),
      read(value(clientMetrics.active), context, waiting),
      io("receive", "received"),
      io("transmit", "sent")
    ],
    { discard: true }
  )
}
