/** One end of a conversation on the wire under test, without a client around it, and a manual handshake. */
import type * as Http from "@effect-mcp/client/Http"
import * as Peer from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Effect, Fiber, Queue, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import * as Raw from "./raw.ts"

/** Streamable HTTP revisions with sessions. */
export const sessions = Revision.stateful.map(({ version }) => version).filter((version) => version !== "2024-11-05")

export interface Wired extends Peer.Peer {
  /** Notifications of the server. */
  readonly heard: Queue.Queue<JsonRpc.Notification>
}

export const wired = Effect.fnUntraced(function* (
  options: Http.Options,
  answer: (request: JsonRpc.Request) => Effect.Effect<unknown> = () => Effect.succeed({}),
  peerOptions?: Peer.Options
): Effect.fn.Return<Wired, unknown, Scope.Scope | HttpClient.HttpClient> {
  const heard = yield* Queue.unbounded<JsonRpc.Notification>()
  const handlers: Peer.Handlers = {
    request: ({ request }) => answer(request),
    notification: (notification) => void Queue.offerUnsafe(heard, notification)
  }
  const peer = yield* Peer.make(yield* Raw.transport(options), handlers, peerOptions)
  return Object.assign(peer, { heard })
})

export const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** A request of 2026-07-28 that was sent and not yet answered. */
export const ask = (peer: Peer.Peer, method: string, params: object = {}, options?: Peer.RequestOptions) =>
  Effect.forkChild(peer.request(method, { ...params, _meta: meta }, options), { startImmediately: true })

export const initialized = { protocolVersion: "", capabilities: {}, serverInfo: { name: "raw", version: "1" } }

export interface Session {
  /** Sent with the answer to `initialize`; `null` omits it. */
  readonly id?: string | null
  readonly version?: Revision.Version
}

/** Performs the handshake, up to the GET that the client then opens. */
export const shakeHands = Effect.fnUntraced(function* (
  peer: Peer.Peer,
  server: Raw.Raw,
  { id = "session-1", version = "2025-11-25" }: Session = {}
): Effect.fn.Return<Raw.Hit> {
  const asked = yield* Effect.forkChild(
    Effect.orDie(peer.request("initialize", { protocolVersion: version, capabilities: {} }, { cancellable: false })),
    { startImmediately: true }
  )
  const hello = yield* server.take("POST")
  yield* hello.result({ ...initialized, protocolVersion: version }, id === null ? {} : { "mcp-session-id": id })
  yield* Fiber.join(asked)
  peer.notify("notifications/initialized")
  const said = yield* server.take("POST")
  yield* said.status(202)
  return yield* server.take("GET")
})
