/**
 * The rows of everything running on a server: client requests (with or without a session), subscriptions, questions to clients, and tasks.
 *
 * Rows are created when they are read, so until then a request costs nothing.
 */
import type { OpenRequest, SentRequest } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import { metaOf } from "../request/RequestServices.ts"
import type { ResourceSubscription, Session } from "../session/Session.ts"
import type { TaskSources } from "../request/TaskSource.ts"
import { clientOf, principalOf, progressOf, type RequestRow } from "./RequestRow.ts"
import type { StatelessRequest } from "./StatelessRequest.ts"
import * as TaskRow from "./TaskRow.ts"

/** An item in the view, with a function that interrupts it. */
interface Item {
  /** Stays the same object for as long as the item is in the view. */
  readonly identity: object
  readonly row: (key: string) => RequestRow
  readonly interrupt: (reason: string) => void
}

export interface Options {
  readonly sessions: ReadonlySet<Session>
  /** Pending requests without a session. */
  readonly stateless: Iterable<StatelessRequest>
  readonly clock: Clock.Clock
  readonly tasks: TaskSources
  /** Ends a resource subscription. */
  readonly unsubscribe: (session: Session, uri: string) => Effect.Effect<void>
}

/** Returns the target, but only for methods in the specification. In other methods, `name` may be an argument. */
const targetOf = ({ method, params }: JsonRpc.Request): string | undefined => {
  if (MethodInfo.ofRequest(method) === undefined) return undefined
  const target = params?.name ?? params?.uri
  return typeof target === "string" ? beginning(target) : undefined
}

const idOf = (id: JsonRpc.Id): JsonRpc.Id => (typeof id === "string" ? beginning(id) : id)

/** Records the reason, unless the client or an earlier interrupt is already ending the request. */
const noted = (request: OpenRequest, reason: string): void => {
  if (request.state !== "ending") request.interrupted = reason
}

/** Reads a server's rows. Owns their keys. */
export class RequestReader {
  private readonly options: Options
  private lastKey = 0
  /** Rows receive their keys when they are first listed, so that a guessed key doesn't interrupt another row. */
  private readonly known = memoize<object, { key?: string }>(() => ({}))

  constructor(options: Options) {
    this.options = options
  }

  readonly list: Effect.Effect<ReadonlyArray<RequestRow>> = Effect.suspend(() =>
    Effect.map(TaskRow.list(this.options.tasks), (tasks) =>
      [...this.items.map(({ identity, row }) => row(this.keyOf(identity))), ...tasks].toSorted(
        (a, b) => a.since - b.since
      )
    )
  )

  readonly interrupt = (key: string, reason: string): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      const item = this.items.find(({ identity }) => this.known(identity).key === key)
      item?.interrupt(reason)
      return item === undefined ? TaskRow.cancel(this.options.tasks, key, reason) : Effect.succeed(true)
    })

  private keyOf(identity: object): string {
    return (this.known(identity).key ??= `${++this.lastKey}`)
  }

  private get items(): ReadonlyArray<Item> {
    const { sessions, stateless } = this.options
    return [...Array.from(sessions, (session) => this.ofSession(session)).flat(), ...this.withoutSession(stateless)]
  }

  private ofSession(session: Session): ReadonlyArray<Item> {
    const { peer } = session
    const open = peer.open()
    const sent = peer.sent()
    const received = open.map((request): Item => {
      const asking = sent.filter(({ relatedTo }) => relatedTo === request.request.id).map(({ method }) => method)
      const principal = request.envelope.principal ?? session.principal
      return {
        identity: request,
        row: (key) => ({ ...this.received(key, request, principal, asking), ...wireOf(session, request.request) }),
        interrupt: (reason) => {
          noted(request, reason)
          peer.interrupt(reason, request.request.id)
        }
      }
    })
    const questions = sent.map((question): Item => {
      const asker = open.find(({ request }) => request.id === question.relatedTo)
      return {
        identity: question.identity,
        row: (key) => this.question(key, question, asker, session),
        interrupt: (reason) => void peer.giveUp(question.id, reason)
      }
    })
    if (!session.hasSubscriptions) return [...received, ...questions]
    const subscriptions = Array.from(session.subscriptions, ([uri, subscription]): Item => {
      return {
        identity: subscription,
        row: (key) => subscribed(key, uri, subscription, session),
        interrupt: () => session.fork(this.options.unsubscribe(session, uri))
      }
    })
    return [...received, ...questions, ...subscriptions]
  }

  private withoutSession(requests: Iterable<StatelessRequest>): ReadonlyArray<Item> {
    return Array.from(requests, (request) => ({
      identity: request,
      row: (key) => ({
        ...this.received(key, request, request.principal, []),
        ...declaredBy(request.request),
        session: undefined,
        transport: request.kind
      }),
      interrupt: (reason) => {
        noted(request, reason)
        request.interrupt(reason)
      }
    }))
  }

  private received(
    key: string,
    open: OpenRequest,
    principal: Principal["Service"],
    asking: ReadonlyArray<string>
  ): Omit<RequestRow, "client" | "revision" | "session" | "transport"> {
    const { asked = 0, isSubscription, request, since, state } = open
    return {
      key,
      kind: isSubscription ? "subscription" : "request",
      id: idOf(request.id),
      method: beginning(request.method),
      target: targetOf(request),
      state: state === "running" && asking.length > 0 ? "asking" : state,
      since: since ?? this.options.clock.currentTimeMillisUnsafe(),
      asking,
      asked,
      wakesAt: undefined,
      progress: progressOf(open.progress),
      relatedTo: undefined,
      principal: principalOf(principal)
    }
  }

  private question(key: string, sent: SentRequest, asker: OpenRequest | undefined, session: Session): RequestRow {
    return {
      ...idle,
      key,
      kind: "question",
      id: sent.id,
      method: sent.method,
      target: undefined,
      since: sent.since,
      relatedTo: asker === undefined ? undefined : this.keyOf(asker),
      principal: principalOf(asker?.envelope.principal ?? session.principal),
      ...wireOf(session, undefined)
    }
  }
}

/** Fields shared by questions and resource subscriptions, which have no individual state. */
const idle = { state: "running", asking: [], asked: 0, wakesAt: undefined, progress: undefined } as const

const subscribed = (key: string, uri: string, { since }: ResourceSubscription, session: Session): RequestRow => ({
  ...idle,
  key,
  kind: "subscription",
  id: undefined,
  method: "resources/subscribe",
  target: beginning(uri),
  since,
  relatedTo: undefined,
  principal: principalOf(session.principal),
  ...wireOf(session, undefined)
})

/** Returns the client and revision that a stateless request declares. */
const declaredBy = (request: JsonRpc.Request): Pick<RequestRow, "client" | "revision"> => {
  const meta = metaOf(request)
  const version = meta[Meta.protocolVersion]
  return {
    client: clientOf(meta[Meta.clientInfo]),
    revision: typeof version === "string" ? beginning(version) : undefined
  }
}

const wireOf = (
  { id, kind, negotiated, sessionless }: Session,
  request: JsonRpc.Request | undefined
): Pick<RequestRow, "client" | "revision" | "session" | "transport"> => {
  const agreed = { client: clientOf(negotiated?.clientInfo), revision: negotiated?.revision.version }
  const declared = request === undefined ? agreed : declaredBy(request)
  return {
    ...(declared.revision === undefined ? agreed : declared),
    session: sessionless ? undefined : id,
    transport: kind
  }
}
