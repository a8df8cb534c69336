/** Everything running on a server at a given moment: its sessions, and their requests, subscriptions, questions and tasks. */
import { digest, shownId } from "@effect-mcp/core/internal/digest"
import { beginning, withoutSecrets } from "@effect-mcp/protocol/Excerpt"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Text = Schema.optional(Schema.String)
const Client = Schema.optional(Schema.Struct({ name: Schema.String, version: Schema.String }))
const Caller = Schema.Struct({ subject: Text, issuer: Text })

const Session = Schema.Struct({
  /** Session ID. Over HTTP it is a digest, because the ID itself grants access to the session. */
  id: Schema.String,
  transport: Text,
  client: Client,
  revision: Text,
  principal: Caller,
  /** Milliseconds since 1970. */
  since: Schema.Finite,
  /** Minimum level of log messages sent to the client. Absent if the server's default applies. */
  level: Text,
  /** The node that holds the session, if there are several. */
  node: Text,
  /** Bytes waiting for the client to read them. */
  backlog: Schema.optional(Schema.Finite)
})

const Request = Schema.Struct({
  /** Key for `interrupt`. */
  key: Schema.String,
  kind: Schema.Literals(["request", "subscription", "question", "task"]),
  method: Schema.String,
  target: Text,
  state: Schema.Literals(["running", "pending", "asking", "sleeping", "ending"]),
  since: Schema.Finite,
  /** Methods of the questions that it is waiting on. */
  asking: Schema.Array(Schema.String),
  /** When a sleeping task wakes up. */
  wakesAt: Schema.optional(Schema.Finite),
  /** Task ID. For an anonymous owner it is a digest, because the ID then grants access to the task. */
  task: Text,
  progress: Schema.optional(
    Schema.Struct({
      progress: Schema.Finite,
      total: Schema.optional(Schema.Finite),
      message: Schema.optional(Schema.String)
    })
  ),
  /** Key of the request that asked the question. */
  relatedTo: Text,
  /** Session ID, as in the list of sessions. Absent for a POST without a session. */
  session: Text,
  /** The node that runs it, if there are several. */
  node: Text,
  transport: Text,
  client: Client,
  revision: Text,
  principal: Caller
})

/** The server on the node that took the snapshot. */
const ServerRow = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  /** Name of the machine, or `undefined` if the platform has none. */
  host: Text,
  /** When the server was built, in milliseconds since 1970. */
  since: Schema.Finite,
  /** With several nodes, whether this node can still renew its sessions' leases. */
  lease: Schema.optional(Schema.Literals(["renewed", "cut off"])),
  /** Number of leases that this node has lost to other nodes. */
  lostLeases: Schema.optional(Schema.Finite)
})

const Node = Schema.Struct({
  name: Schema.String,
  /** `unreachable` means the node did not respond, so its sessions and requests are missing. */
  state: Schema.Literals(["serving", "draining", "unreachable"]),
  sessions: Schema.Finite,
  /** Number of rows of the kind `request`. */
  requests: Schema.Finite,
  /** Absent if the node did not respond, or runs an older version of this package. */
  server: Schema.optional(ServerRow)
})

/**
 * Everything running on a server. See `McpServer.RequestRow` for requests. Contains no arguments, headers, tokens, or IDs that grant
 * access.
 */
export const Snapshot = Schema.Struct({
  /** Milliseconds since 1970, on the server's clock. */
  time: Schema.Finite,
  /** True if the node that received the request is draining. */
  draining: Schema.Boolean,
  /** The server on the node that received the request. Absent if it runs an older version of this package. */
  server: Schema.optional(ServerRow),
  /** All of the server's nodes, if there are several. IDs and keys then end with `@` and the node's name. */
  nodes: Schema.optional(Schema.Array(Node)),
  sessions: Schema.Array(Session),
  requests: Schema.Array(Request)
})
export type Snapshot = typeof Snapshot.Type
export type SessionRow = typeof Session.Type
export type SnapshotRow = typeof Request.Type
export type NodeRow = typeof Node.Type
export type ServerRow = typeof ServerRow.Type

/** Returns a session's ID for display. Over HTTP it is a digest, because the ID itself grants access to the session. */
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

/** Omits the JSON-RPC request ID, which the client chose. */
const requestRow = (row: McpServer.RequestRow, session: string | undefined): SnapshotRow => {
  const { asking, client, id, key, kind, method, principal, progress, relatedTo, revision, since, state, target } = row
  const { transport, wakesAt } = row
  return {
    key,
    kind,
    method,
    // Omits a URI's query, because it is similar to an argument.
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

/** Platforms without `node:os` have no host name. */
const hostname = Effect.promise(() =>
  import("node:os").then(
    ({ hostname }) => hostname(),
    () => undefined
  )
)

const serverRow = ({ name, nodes, startedAt, version }: McpServer.Server, host: string | undefined): ServerRow => ({
  name,
  version,
  host,
  since: startedAt,
  ...(nodes === undefined
    ? undefined
    : { lease: nodes.directory.isCutOff ? "cut off" : "renewed", lostLeases: nodes.directory.lostLeases })
})

/** Takes a snapshot, with the oldest entries first. */
export const take: Effect.Effect<Snapshot, never, McpServer.McpServer> = Effect.gen(function* () {
  const server = yield* McpServer.McpServer
  const open = (yield* server.sessions).filter(({ sessionless }) => !sessionless)
  const rows = yield* server.requests.list
  const ids = new Map(open.map((session) => [session.id, idOf(session)]))
  return {
    time: yield* Clock.currentTimeMillis,
    draining: server.drain.isDraining,
    server: serverRow(server, yield* hostname),
    sessions: open.map(sessionRow).toSorted((a, b) => a.since - b.since),
    requests: rows.map((row) => requestRow(row, row.session === undefined ? undefined : ids.get(row.session)))
  }
})
