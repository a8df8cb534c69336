/** A client of the revisions with sessions that sends exactly the requests of a test. */
import type { JsonRpc } from "@effect-mcp/protocol"
import type { Version } from "@effect-mcp/protocol/Revision"
import { Effect, Exit, type Scope } from "effect"
import type { OutgoingHttpHeaders } from "node:http"
import type { Client, Event, Reply, Sent } from "./http.ts"

/** The revisions with Streamable HTTP and sessions, oldest first. */
export const revisions = ["2025-03-26", "2025-06-18", "2025-11-25"] as const satisfies ReadonlyArray<Version>

export interface Opened {
  readonly id: string
  /** The answer to `initialize`. */
  readonly initialized: any
  /** Sends any request of the session; `undefined` removes one of its headers. */
  readonly send: (sent: Sent) => Effect.Effect<Reply>
  /** Starts a request and hangs up when the scope closes. */
  readonly abandon: (sent: Sent) => Effect.Effect<void, never, Scope.Scope>
  readonly post: (body: unknown, headers?: OutgoingHttpHeaders) => Effect.Effect<Reply>
  readonly request: (method: string, params?: object, id?: JsonRpc.Id) => Effect.Effect<Reply>
  readonly call: (name: string, args?: object, id?: JsonRpc.Id) => Effect.Effect<Reply>
  /** Calls a tool with a progress token. */
  readonly follow: (name: string, args?: object, id?: JsonRpc.Id) => Effect.Effect<Reply>
  readonly notify: (method: string, params?: object) => Effect.Effect<Reply>
  readonly respond: (id: JsonRpc.Id, result: object) => Effect.Effect<Reply>
  /** Opens the standalone GET stream, or the stream of an event. */
  readonly get: (lastEventId?: string) => Effect.Effect<Reply>
  readonly delete: Effect.Effect<Reply>
}

export const request = (method: string, params: object = {}, id: JsonRpc.Id = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  params
})
export const initialize = (protocolVersion: string, capabilities: object = {}) =>
  request("initialize", { protocolVersion, capabilities, clientInfo: { name: "raw", version: "1" } }, 0)
export const callOf = (name: string, args: object = {}, id: JsonRpc.Id = 1, _meta?: object) =>
  request("tools/call", { name, arguments: args, ...(_meta && { _meta }) }, id)

/** All capabilities for questions. */
export const able = { elicitation: {}, sampling: {}, roots: { listChanged: true } }

/** Opens a session and sends `initialized`. `headers` are sent with every request. */
export const openSession = Effect.fnUntraced(function* (
  { abandon, fetch }: Pick<Client, "abandon" | "fetch">,
  version: Version = "2025-11-25",
  { capabilities = able, headers = {} }: { readonly capabilities?: object; readonly headers?: OutgoingHttpHeaders } = {}
): Effect.fn.Return<Opened> {
  const reply = yield* fetch({ headers, body: JSON.stringify(initialize(version, capabilities)) })
  const initialized = yield* reply.json
  const id = String(reply.headers["mcp-session-id"])
  const own = { "mcp-session-id": id, "mcp-protocol-version": version, ...headers }
  const send = (sent: Sent) => fetch({ ...sent, headers: { ...own, ...sent.headers } })
  const post: Opened["post"] = (body, headers = {}) => send({ body: JSON.stringify(body), headers })
  const notify: Opened["notify"] = (method, params = {}) => post({ jsonrpc: "2.0", method, params })
  yield* notify("notifications/initialized")
  return {
    id,
    initialized,
    send,
    abandon: (sent) => abandon({ ...sent, headers: { ...own, ...sent.headers } }),
    post,
    notify,
    request: (method, params = {}, id = 1) => post(request(method, params, id)),
    call: (name, args = {}, id = 1) => post(callOf(name, args, id)),
    follow: (name, args = {}, id = 1) => post(callOf(name, args, id, { progressToken: id })),
    respond: (id, result) => post({ jsonrpc: "2.0", id, result }),
    get: (lastEventId) =>
      send({
        method: "GET",
        headers: {
          accept: "text/event-stream",
          "content-type": undefined,
          ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
        }
      }),
    delete: send({ method: "DELETE" })
  }
})

/** Returns every event up to the end of the body. */
export const eventsOf = ({ event }: Reply): Effect.Effect<ReadonlyArray<Event>> =>
  Effect.gen(function* () {
    const all: Array<Event> = []
    for (;;) {
      const next = yield* Effect.exit(event)
      if (Exit.isFailure(next)) return all
      all.push(next.value)
    }
  })

/** The messages of events, without events that have no data. */
export const saidOf = (events: ReadonlyArray<Event>): ReadonlyArray<any> =>
  events.flatMap(({ data }) => (data === undefined || data === "" ? [] : [data]))
