/** A hand-written stateless server (2026-07-28) that answers `server/discover` and rejects the handshake. */
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Exchange } from "@effect-mcp/core/Peer"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { Deferred, Effect, Queue } from "effect"
import * as Scripted from "./scripted.ts"

export const version = "2026-07-28" as const

/** Extensions that every client declares. */
export const tasks = { "io.modelcontextprotocol/tasks": {} }

export const complete = (result: object) => ({ resultType: "complete", ...result })

export const discovered = (script: Scripted.Script = {}) =>
  complete({
    supportedVersions: [version],
    capabilities: script.capabilities ?? Scripted.everything,
    ttlMs: 0,
    cacheScope: "private",
    ...(script.instructions === undefined ? undefined : { instructions: script.instructions }),
    _meta: { [Meta.serverInfo]: Scripted.info }
  })

export const unsupported = (...supported: ReadonlyArray<unknown>) =>
  Effect.fail(
    new McpError.McpError({
      code: McpError.UnsupportedProtocolVersion,
      message: "Unsupported protocol version",
      data: { supported, requested: version }
    })
  )

/** Acknowledges a subscription at once; it lasts until it is cancelled. */
const granted: Scripted.Answer = ({ notifications }, { peer, request }) => {
  const _meta = { [Meta.subscriptionId]: request.id }
  peer.notify("notifications/subscriptions/acknowledged", { _meta, notifications })
  return Effect.never
}

/** A server of this era only. */
export const make = (script: Scripted.Script = {}) =>
  Scripted.make({
    ...script,
    answers: {
      "server/discover": () => discovered(script),
      "subscriptions/listen": granted,
      initialize: () => unsupported(version),
      ...script.answers
    }
  })

export const connected = Effect.fnUntraced(function* (script?: Scripted.Script, options?: McpClient.Options) {
  const server = yield* make(script)
  const client = yield* McpClient.connect(server.transport, options)
  return { server, client }
})

/** A field that a request declares about its sender. */
export const declared = (request: JsonRpc.Request | undefined, key: string): unknown =>
  (request?.params?._meta as { readonly [key: string]: unknown } | undefined)?.[key]

/** The methods of all messages that the server received. */
export const methods = (server: Scripted.Scripted) =>
  server.heard.map((message) => ("method" in message ? message.method : "answer"))

/** A subscription from the server's point of view. */
export interface Subscription {
  readonly id: JsonRpc.Id
  readonly filter: unknown
  readonly acknowledge: (granted?: unknown) => void
  readonly tell: (method: string, params?: object) => void
  /** Answers its request, which ends it gracefully. */
  readonly end: () => void
}

/** Accepts subscriptions one by one, or grants everything automatically. */
export const subscriptions = Effect.fnUntraced(function* (granting: boolean) {
  const opened = yield* Queue.unbounded<Subscription>()
  const answer = ({ notifications }: JsonRpc.Params, exchange: Exchange) =>
    Effect.suspend(() => {
      const { id } = exchange.request
      const _meta = { [Meta.subscriptionId]: id }
      const done = Deferred.makeUnsafe<void>()
      const tell: Subscription["tell"] = (method, params) =>
        exchange.sink.send(JsonRpc.notification(method, { ...params, _meta }), "data", id)
      const acknowledge: Subscription["acknowledge"] = (granted = notifications) =>
        tell("notifications/subscriptions/acknowledged", { notifications: granted })
      if (granting) acknowledge()
      const end = () => Deferred.doneUnsafe(done, Effect.void)
      Queue.offerUnsafe(opened, { id, filter: notifications, acknowledge, tell, end })
      return Effect.as(Deferred.await(done), complete({ _meta }))
    })
  return { answer, next: Queue.take(opened), opened: Queue.size(opened) }
})

interface Listening {
  readonly granting?: boolean
  readonly capabilities?: object
  readonly reconnect?: McpClient.Options["reconnect"]
}

/** A client of a server with subscriptions. */
export const listening = ({ capabilities, granting = true, reconnect }: Listening = {}) =>
  Effect.gen(function* () {
    const granted = yield* subscriptions(granting)
    const opened = yield* connected(
      { capabilities, answers: { "subscriptions/listen": granted.answer } },
      { reconnect }
    )
    return { ...opened, ...granted }
  })
