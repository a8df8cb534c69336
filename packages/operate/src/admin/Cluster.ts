/**
 * Presents a server's nodes as one: collects what is running on all of them, and sends actions to the right node. While an operator is
 * looking, nodes find each other over the `Bus` and respond over the `Relay`. A single-node server is a cluster of one.
 *
 * It does not check access rights: the node that received the request has already checked the operator, and only nodes can use the relay.
 */
import { McpServer, type Server } from "@effect-mcp/server/McpServer"
import type { Nodes, RelayedResponse, RelayError } from "@effect-mcp/server/Nodes"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { AdminAction, type ActionResponse } from "./Action.ts"
import * as SharedRead from "./SharedRead.ts"
import { merged, NodeRecord, type Recent } from "./Recent.ts"
import { type NodeRow, Snapshot } from "./Snapshot.ts"

/** How often to look for other nodes while an operator is looking, and how long until a silent node no longer counts, in milliseconds. */
const asking = 2000
const forgotten = 7000
/** How long the first lookup waits for other nodes. */
const patience = "300 millis"
/** How long to wait for another node's response. */
const answerPatience = "2 seconds"

export interface Cluster {
  /** True if the server may have other nodes, whose changes are not announced on this one. */
  readonly isShared: boolean
  /** Shared by all concurrent callers, because reading from a store or other nodes may take a while. */
  readonly snapshot: Effect.Effect<Snapshot>
  /** Performs the action on the node that its key or session names. */
  readonly perform: (action: AdminAction) => Effect.Effect<ActionResponse>
  readonly drain: (node: string | undefined) => Effect.Effect<ActionResponse>
  /** Merges the records of all nodes that keep one, or returns `undefined` if no node keeps a record. */
  readonly recent: (since: number) => Effect.Effect<Recent | undefined>
}

type Perform = (action: AdminAction) => Effect.Effect<ActionResponse, never, McpServer>

/** Returns a node's name for display and for use in keys. */
const nameOf = (node: string): string => node.slice(node.lastIndexOf(" ") + 1)

const marked = (text: string, node: string): string => `${text}@${node}`

/** Splits text at the last `@`, which precedes the node's name. */
const parted = (text: string): readonly [text: string, node: string | undefined] => {
  const at = text.lastIndexOf("@")
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

const Hint = Schema.fromJsonString(
  Schema.Struct({ node: Schema.String.check(Schema.isMaxLength(300)), asks: Schema.Boolean })
)
const decodeHint = Schema.decodeUnknownOption(Hint)
const decodeAction = Schema.decodeUnknownEffect(Schema.fromJsonString(AdminAction))
const Answered = Schema.fromJsonString(
  Schema.Struct({ status: Schema.Int, body: Schema.Record(Schema.String, Schema.Unknown) })
)
const decodeAnswer = Schema.decodeUnknownEffect(Answered)
const decodeSnapshot = Schema.decodeUnknownEffect(Snapshot)
const decodeRecord = Schema.decodeUnknownOption(NodeRecord)

const noNode = (name: string): ActionResponse => ({
  status: 404,
  body: { error: `Node ${JSON.stringify(name)} is not responding. It may have shut down` }
})

const named = (snapshot: Snapshot, node: string): Snapshot => ({
  ...snapshot,
  sessions: snapshot.sessions.map((session) => ({ ...session, id: marked(session.id, node), node })),
  requests: snapshot.requests.map((row) => ({
    ...row,
    node,
    key: marked(row.key, node),
    relatedTo: row.relatedTo === undefined ? undefined : marked(row.relatedTo, node),
    session: row.session === undefined ? undefined : marked(row.session, node)
  }))
})

const stateOf = (name: string, snapshot: Snapshot | undefined): NodeRow => ({
  name,
  state: snapshot === undefined ? "unreachable" : snapshot.draining ? "draining" : "serving",
  sessions: snapshot?.sessions.length ?? 0,
  requests: snapshot?.requests.filter(({ kind }) => kind === "request").length ?? 0,
  server: snapshot?.server
})

const recentOf = (
  answers: ReadonlyArray<{ readonly node: string | undefined; readonly answer: ActionResponse | undefined }>,
  now: number
): Recent | undefined => {
  const records = answers.flatMap(({ answer, node }) => {
    const record = answer?.status === 200 ? decodeRecord(answer.body) : undefined
    return record?._tag === "Some" ? [{ node, record: record.value }] : []
  })
  return records.length === 0 ? undefined : merged(records, now)
}

const oldest = (a: { readonly since: number }, b: { readonly since: number }): number => a.since - b.since

/** Merges rows if several nodes know the same task. The node running it comes first. */
const once = (rows: Snapshot["requests"]): Snapshot["requests"] => {
  const tasks = new Set<string>()
  return rows.filter(({ key, kind }) => {
    const [task] = parted(key)
    if (kind !== "task") return true
    if (tasks.has(task)) return false
    tasks.add(task)
    return true
  })
}

const textOf = ({ body }: RelayedResponse): Effect.Effect<string, RelayError> => {
  if (typeof body === "string") return Effect.succeed(body)
  if (body instanceof Uint8Array) return Effect.succeed(new TextDecoder().decode(body))
  return Stream.mkString(Stream.decodeText(body))
}

class Members implements Cluster {
  readonly isShared = true
  private readonly nodes: Nodes["Service"]
  private readonly server: Server
  private readonly own: Perform
  private readonly clock: Clock.Clock
  /** Other nodes by name, and when each was last heard from. */
  private readonly others = new Map<string, { readonly node: string; readonly heard: number }>()
  private asked = -Infinity

  constructor(nodes: Nodes["Service"], server: Server, own: Perform, clock: Clock.Clock) {
    this.nodes = nodes
    this.server = server
    this.own = own
    this.clock = clock
  }

  get topic(): string {
    return `admin ${this.server.name}`
  }

  private get self(): string {
    return nameOf(this.nodes.directory.node)
  }

  /** Called with messages published by other nodes. */
  readonly heard = (text: string): void => {
    const hint = decodeHint(text)
    if (hint._tag === "None") return
    const { asks, node } = hint.value
    if (node === this.nodes.directory.node) return
    this.others.set(nameOf(node), { node, heard: this.clock.currentTimeMillisUnsafe() })
    if (asks) this.publish(false)
  }

  private publish(asks: boolean): void {
    this.nodes.bus.publish(this.topic, JSON.stringify({ node: this.nodes.directory.node, asks }))
  }

  /** Looks for other nodes unless it has just done so. The first lookup waits for responses. */
  private get looked(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const now = this.clock.currentTimeMillisUnsafe()
      if (now - this.asked < asking) return Effect.void
      const isFirst = now - this.asked > forgotten
      this.asked = now
      for (const [name, { heard }] of this.others) if (now - heard > forgotten) this.others.delete(name)
      this.publish(true)
      return isFirst ? Effect.sleep(patience) : Effect.void
    })
  }

  readonly here = (action: AdminAction): Effect.Effect<ActionResponse> =>
    Effect.provideService(this.own(action), McpServer, this.server)

  /** Performs the action on another node. Returns `undefined` if that node does not respond. */
  private there(node: string, action: AdminAction): Effect.Effect<ActionResponse | undefined> {
    const body = new TextEncoder().encode(JSON.stringify(action))
    const request = { server: this.topic, session: "", method: "POST", url: "/", headers: {}, body }
    return Effect.gen({ self: this }, function* () {
      const sent = { ...request, principal: undefined, address: undefined }
      const response = yield* this.nodes.relay.send(node, sent)
      return yield* decodeAnswer(yield* textOf(response))
    }).pipe(
      Effect.scoped,
      Effect.timeoutOption(answerPatience),
      Effect.match({
        onSuccess: (answer) => (answer._tag === "Some" ? answer.value : undefined),
        onFailure: () => undefined
      })
    )
  }

  private at(name: string, action: AdminAction): Effect.Effect<ActionResponse> {
    if (name === this.self) return this.here(action)
    const other = this.others.get(name)
    if (other === undefined) return Effect.succeed(noNode(name))
    return Effect.map(this.there(other.node, action), (answer) => answer ?? noNode(name))
  }

  /** Performs the action on every known node. */
  private everywhere(
    action: AdminAction
  ): Effect.Effect<ReadonlyArray<{ readonly node: string; readonly answer: ActionResponse | undefined }>> {
    const others = [...this.others].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Effect.all(
      [
        Effect.map(this.here(action), (answer) => ({ node: this.self, answer })),
        ...others.map(([name, { node }]) => Effect.map(this.there(node, action), (answer) => ({ node: name, answer })))
      ],
      { concurrency: "unbounded" }
    )
  }

  readonly recent = (since: number): Effect.Effect<Recent | undefined> =>
    Effect.gen({ self: this }, function* () {
      yield* this.looked
      const answers = yield* this.everywhere({ _tag: "Recent", since })
      return recentOf(answers, this.clock.currentTimeMillisUnsafe())
    })

  get snapshot(): Effect.Effect<Snapshot> {
    const read = (name: string, answer: ActionResponse | undefined) =>
      Effect.map(Effect.option(decodeSnapshot(answer?.body)), (snapshot) => ({
        name,
        snapshot: snapshot._tag === "Some" ? snapshot.value : undefined
      }))
    return Effect.gen({ self: this }, function* () {
      yield* this.looked
      const answers = yield* this.everywhere({ _tag: "Snapshot" })
      const all = yield* Effect.forEach(answers, ({ answer, node }) => read(node, answer))
      const found = all.flatMap(({ name, snapshot }) => (snapshot === undefined ? [] : [named(snapshot, name)]))
      return {
        time: this.clock.currentTimeMillisUnsafe(),
        draining: this.server.drain.isDraining,
        server: all[0]?.snapshot?.server,
        nodes: all.map(({ name, snapshot }) => stateOf(name, snapshot)),
        sessions: found.flatMap(({ sessions }) => sessions).toSorted(oldest),
        requests: once(found.flatMap(({ requests }) => requests)).toSorted(oldest)
      }
    })
  }

  readonly perform = (action: AdminAction): Effect.Effect<ActionResponse> => {
    if (action._tag === "Interrupt") {
      const [key, node] = parted(action.key)
      return this.at(node ?? this.self, { ...action, key })
    }
    if (!("session" in action) || action.session === undefined) return this.here(action)
    const [session, node] = parted(action.session)
    return this.at(node ?? this.self, { ...action, session })
  }

  readonly drain = (node: string | undefined): Effect.Effect<ActionResponse> =>
    this.at(node ?? this.self, { _tag: "Drain" })
}

/** Handles requests from other nodes. */
const serve = (members: Members, { relay }: Nodes["Service"]) =>
  relay.serve({
    server: members.topic,
    answer: ({ body }) =>
      decodeAction(new TextDecoder().decode(body)).pipe(
        Effect.flatMap(members.here),
        // A node that runs another version may send actions that this one does not support.
        Effect.catch(() =>
          Effect.succeed<ActionResponse>({
            status: 400,
            body: { error: "This node does not support the action. It may run an older version" }
          })
        ),
        Effect.map((answer) => ({
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify(answer)
        }))
      )
  })

/** `own` performs an action on this node. */
export const make = Effect.fnUntraced(function* (
  server: Server,
  own: Perform
): Effect.fn.Return<Cluster, never, Scope.Scope> {
  const { nodes } = server
  if (nodes === undefined) {
    const perform = (action: AdminAction) => Effect.provideService(own(action), McpServer, server)
    const taken = Effect.flatMap(perform({ _tag: "Snapshot" }), ({ body }) => Effect.orDie(decodeSnapshot(body)))
    return {
      isShared: false,
      snapshot: yield* SharedRead.make(taken),
      perform,
      drain: (node) => (node === undefined ? perform({ _tag: "Drain" }) : Effect.succeed(noNode(node))),
      recent: (since) =>
        Effect.flatMap(perform({ _tag: "Recent", since }), (answer) =>
          Effect.map(Clock.currentTimeMillis, (now) => recentOf([{ node: undefined, answer }], now))
        )
    }
  }
  const members = new Members(nodes, server, own, yield* Clock.Clock)
  yield* nodes.bus.subscribe(members.topic, members.heard)
  yield* serve(members, nodes)
  const { drain, isShared, perform, recent } = members
  return { isShared, perform, drain, recent, snapshot: yield* SharedRead.make(members.snapshot) }
})
