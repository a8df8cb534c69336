/** Counts what is open on servers, for gauges and charts. */
import type { Observed } from "@effect-mcp/server/Observer"

/** Number of open sessions, requests, subscriptions and questions, and number of waiting bytes. */
export interface OpenCounts {
  sessions: number
  active: number
  pending: number
  subscriptions: number
  questions: number
  backlog: number
  unkept: number
}

/** Counts what is currently open on the servers. */
export const count = (servers: Iterable<Observed>): OpenCounts => {
  const counts = { sessions: 0, active: 0, pending: 0, subscriptions: 0, questions: 0, backlog: 0, unkept: 0 }
  const add = ({ isSubscription, state }: { readonly isSubscription: boolean; readonly state: string }): void => {
    if (isSubscription) counts.subscriptions++
    else if (state === "pending") counts.pending++
    else counts.active++
  }
  for (const { sessions, stateless } of servers) {
    for (const session of sessions) {
      if (!session.sessionless) counts.sessions++
      for (const request of session.peer.open()) add(request)
      counts.questions += session.peer.outstanding()
      counts.backlog += session.backlog ?? 0
      counts.unkept += session.unkept ?? 0
      if (session.hasSubscriptions) counts.subscriptions += session.subscriptions.size
    }
    for (const request of stateless) add(request)
  }
  return counts
}
