/**
 * The nodes of a server as one: what runs at all of them, and actions at the node that they are for. Nodes find each other over the `Bus`
 * while an operator looks, and answer over the `Relay`. A server of one node is itself.
 *
 * Refuses nothing: the node that an operator asks has judged the operator, and the relay keeps strangers out.
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
import { type NodeRow, Snapshot } from "./Snapshot.ts"

/** How often other nodes are asked for while an operator looks, and how long one counts that was not heard since, in milliseconds. */
const asking = 2000
const forgotten = 7000
/** How long the first look waits for other nodes. */
const patience = "300 millis"
/** How long another node may take to answer. */
const answerPatience = "2 seconds"

export interface Cluster {
  /** Whether the server may have other nodes, whose changes nothing announces here. */
  readonly isShared: boolean
  /** Read once for all that ask at a time: of a store, and of other nodes, a read may take a while. */
  readonly snapshot: Effect.Effect<Snapshot>
  /** Does it at the node that its key or its session names. */
  readonly perform: (action: AdminAction) => Effect.Effect<ActionResponse>
  readonly drain: (node: string | undefined) => Effect.Effect<ActionResponse>
}

type Perform = (action: AdminAction) => Effect.Effect<ActionResponse, never, McpServer>

/** A name of a node for views, and in keys. */
const nameOf = (node: string): string => node.slice(node.lastIndexOf(" ") + 1)

const marked = (text: string, node: string): string => `${text}@${node}`

/** The text before the last `@`, and the name after it. */
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

const noNode = (name: string): ActionResponse => ({
  status: 404,
  body: { error: `No node ${JSON.stringify(name)} answers. It may have ended: look again` }
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
  requests: snapshot?.requests.length ?? 0
})

const oldest = (a: { readonly since: number }, b: { readonly since: number }): number => a.since - b.since

/** Of a task that several nodes know, one row: that of a node which runs it is among the first. */
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
  /** The other nodes by name, and when each was last heard. */
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

  /** Called with what other nodes publish. */
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

  /** Asks for the other nodes where that was not done a moment ago; the first time waits for them. */
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

  /** Undefined where the node does not answer. */
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

  get snapshot(): Effect.Effect<Snapshot> {
    const ask = (name: string, answer: Effect.Effect<ActionResponse | undefined>) =>
      Effect.map(Effect.option(Effect.flatMap(answer, (answered) => decodeSnapshot(answered?.body))), (snapshot) => ({
        name,
        snapshot: snapshot._tag === "Some" ? snapshot.value : undefined
      }))
    return Effect.gen({ self: this }, function* () {
      yield* this.looked
      const others = [...this.others].toSorted(([a], [b]) => (a < b ? -1 : 1))
      const all = yield* Effect.all(
        [
          ask(this.self, this.here({ _tag: "Snapshot" })),
          ...others.map(([name, { node }]) => ask(name, this.there(node, { _tag: "Snapshot" })))
        ],
        { concurrency: "unbounded" }
      )
      const found = all.flatMap(({ name, snapshot }) => (snapshot === undefined ? [] : [named(snapshot, name)]))
      return {
        time: this.clock.currentTimeMillisUnsafe(),
        draining: this.server.drain.isDraining,
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

/** What the other nodes ask of this one. */
const serve = (members: Members, { relay }: Nodes["Service"]) =>
  relay.serve({
    server: members.topic,
    answer: ({ body }) =>
      decodeAction(new TextDecoder().decode(body)).pipe(
        Effect.flatMap(members.here),
        // A node of another version may ask for what this one does not know.
        Effect.catch(() =>
          Effect.succeed<ActionResponse>({ status: 400, body: { error: "This node does not know the action" } })
        ),
        Effect.map((answer) => ({
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify(answer)
        }))
      )
  })

/** `own` does an action at this node. */
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
      drain: (node) => (node === undefined ? perform({ _tag: "Drain" }) : Effect.succeed(noNode(node)))
    }
  }
  const members = new Members(nodes, server, own, yield* Clock.Clock)
  yield* nodes.bus.subscribe(members.topic, members.heard)
  yield* serve(members, nodes)
  const { drain, isShared, perform } = members
  return { isShared, perform, drain, snapshot: yield* SharedRead.make(members.snapshot) }
})
