/** What runs at a server at one moment: its sessions, and their requests, subscriptions, questions and tasks. */
import { digest } from "@effect-mcp/core/internal/digest"
import { beginning, withoutSecrets } from "@effect-mcp/protocol/Excerpt"
import { shownId } from "@effect-mcp/server/internal/shownId"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Text = Schema.optional(Schema.String)
const Client = Schema.optional(Schema.Struct({ name: Schema.String, version: Schema.String }))
const Caller = Schema.Struct({ subject: Text, issuer: Text })

const Session = Schema.Struct({
  /** A digest of the id of a session over HTTP, which admits its holder; the id itself elsewhere. */
  id: Schema.String,
  transport: Text,
  client: Client,
  revision: Text,
  principal: Caller,
  /** Milliseconds since the epoch. */
  since: Schema.Finite,
  /** The least level of log messages that its client is sent; none where it is the server's default. */
  level: Text,
  /** The node that has it, where there are several. */
  node: Text,
  /** Bytes that wait until the client reads them. */
  backlog: Schema.optional(Schema.Finite)
})

const Request = Schema.Struct({
  /** Names it to `interrupt`. */
  key: Schema.String,
  kind: Schema.Literals(["request", "subscription", "question", "task"]),
  method: Schema.String,
  target: Text,
  state: Schema.Literals(["running", "pending", "asking", "sleeping", "ending"]),
  since: Schema.Finite,
  /** The methods of the questions that it waits for. */
  asking: Schema.Array(Schema.String),
  /** When the sleep of a task ends. */
  wakesAt: Schema.optional(Schema.Finite),
  /** The id of a task; a digest where its caller has no name, for then the id is the right to use it. */
  task: Text,
  progress: Schema.optional(
    Schema.Struct({
      progress: Schema.Finite,
      total: Schema.optional(Schema.Finite),
      message: Schema.optional(Schema.String)
    })
  ),
  /** The key of the request that asks. */
  relatedTo: Text,
  /** The session as it is among the sessions; none for a POST without one. */
  session: Text,
  /** The node that runs it, where there are several. */
  node: Text,
  transport: Text,
  client: Client,
  revision: Text,
  principal: Caller
})

const Node = Schema.Struct({
  name: Schema.String,
  /** `unreachable`: it did not answer; its sessions and requests are left out. */
  state: Schema.Literals(["serving", "draining", "unreachable"]),
  sessions: Schema.Finite,
  requests: Schema.Finite
})

/** What runs at a server; see `McpServer.RequestRow` for the requests. It has no arguments, headers, tokens, or ids that admit. */
export const Snapshot = Schema.Struct({
  /** Milliseconds since the epoch, by the clock of the server. */
  time: Schema.Finite,
  /** Whether the node that was asked drains. */
  draining: Schema.Boolean,
  /** All nodes of the server, where it has several. Ids and keys end with `@` and the name of their node then. */
  nodes: Schema.optional(Schema.Array(Node)),
  sessions: Schema.Array(Session),
  requests: Schema.Array(Request)
})
export type Snapshot = typeof Snapshot.Type
export type SessionRow = typeof Session.Type
export type SnapshotRow = typeof Request.Type
export type NodeRow = typeof Node.Type

/** Of a session as views show it: over HTTP the id itself admits its holder. */
export const idOf = (session: McpServer.Session): string => (session.duplex ? session.id : digest(session.id))

const sessionRow = (session: McpServer.Session): SessionRow => {
  const { backlog, kind: transport, logLevel: level, negotiated, openedAt: since, principal } = session
  const { clientInfo, revision } = negotiated ?? {}
  const issuer = principal.claims["iss"]
  return {
    id: idOf(session),
    transport,
    client: clientInfo && { name: beginning(clientInfo.name), version: beginning(clientInfo.version) },
    revision: revision?.version,
    principal: { subject: principal.subject, issuer: typeof issuer === "string" ? issuer : undefined },
    since,
    level,
    node: undefined,
    backlog
  }
}

/** The id of a request on the wire is the client's own, and left out. */
const requestRow = (row: McpServer.RequestRow, session: string | undefined): SnapshotRow => {
  const { asking, client, id, key, kind, method, principal, progress, relatedTo, revision, since, state, target } = row
  const { transport, wakesAt } = row
  return {
    key,
    kind,
    method,
    // The query of a URI is like an argument.
    target: target !== undefined && method.startsWith("resources/") ? withoutSecrets(target) : target,
    state,
    since,
    asking,
    wakesAt,
    task: kind === "task" ? shownId(String(id), principal) : undefined,
    progress,
    relatedTo,
    session,
    node: undefined,
    transport,
    client,
    revision,
    principal
  }
}

/** What runs now, the oldest first. */
export const take: Effect.Effect<Snapshot, never, McpServer.McpServer> = Effect.gen(function* () {
  const server = yield* McpServer.McpServer
  const open = (yield* server.sessions).filter(({ sessionless }) => !sessionless)
  const rows = yield* server.requests.list
  const ids = new Map(open.map((session) => [session.id, idOf(session)]))
  return {
    time: yield* Clock.currentTimeMillis,
    draining: server.drain.isDraining,
    sessions: open.map(sessionRow).toSorted((a, b) => a.since - b.since),
    requests: rows.map((row) => requestRow(row, row.session === undefined ? undefined : ids.get(row.session)))
  }
})
