/** A hand-written server on the core's Peer: a table defines its answers, and everything it receives is recorded. */
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import type { Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Version } from "@effect-mcp/protocol/Revision"
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"

export type Answer = (
  params: JsonRpc.Params,
  exchange: Peer.Exchange
) => Effect.Effect<unknown, McpError.McpError> | object

export interface Script {
  readonly version?: Version | undefined
  readonly capabilities?: object | undefined
  readonly instructions?: string | undefined
  /** Answers by method; `initialize` may be replaced too. A missing method is answered with -32601. */
  readonly answers?: { readonly [method: string]: Answer } | undefined
}

export interface Scripted {
  /** The client's end of the wire. */
  readonly transport: Transport
  /** The server's end, which sends requests and notifications to the client. */
  readonly peer: Peer.Peer
  /** Sends a message without the peer, such as an answer that comes too late. */
  readonly send: (message: JsonRpc.Message) => void
  /** Everything that the client sent, in order, including `cancelled` notifications. */
  readonly heard: ReadonlyArray<JsonRpc.Message>
  /** The next notification from the client. */
  readonly notification: Effect.Effect<JsonRpc.Notification>
  readonly requests: (method: string) => ReadonlyArray<JsonRpc.Request>
  /** Ends the client's incoming stream cleanly. */
  readonly end: () => void
}

export const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {}
}

export const info = { name: "scripted", version: "1.0.0" }

export const initializeResult = (script: Script) => ({
  protocolVersion: script.version ?? "2025-11-25",
  capabilities: script.capabilities ?? everything,
  serverInfo: info,
  ...(script.instructions === undefined ? undefined : { instructions: script.instructions })
})

export const make = Effect.fnUntraced(function* (script: Script = {}): Effect.fn.Return<Scripted, never, Scope.Scope> {
  const [client, server] = yield* Memory.pair()
  const ended = Deferred.makeUnsafe<void>()
  const heard: Array<JsonRpc.Message> = []
  const notifications = yield* Queue.unbounded<JsonRpc.Notification>()
  const recorded: Transport = {
    ...server,
    incoming: Stream.tap(server.incoming, (inbound) =>
      Effect.sync(() => {
        if (inbound._tag !== "Message") return
        heard.push(inbound.message)
        if (JsonRpc.isNotification(inbound.message)) Queue.offerUnsafe(notifications, inbound.message)
      })
    )
  }
  const answers: { readonly [method: string]: Answer } = {
    initialize: () => initializeResult(script),
    ...script.answers
  }
  const peer = yield* Peer.make(recorded, {
    request: (exchange) => {
      const { method, params = {} } = exchange.request
      const answer = answers[method]
      if (answer === undefined) return Effect.fail(McpError.methodNotFound(method))
      const result = answer(params, exchange)
      return Effect.isEffect(result) ? (result as Effect.Effect<unknown, McpError.McpError>) : Effect.succeed(result)
    },
    immediate: ({ method }) => (method === "ping" ? {} : undefined),
    notification: () => {}
  })
  return {
    transport: { ...client, incoming: Stream.interruptWhen(client.incoming, Deferred.await(ended)) },
    peer,
    send: (message) => server.sink.send(message, "data"),
    heard,
    notification: Queue.take(notifications),
    requests: (method) => heard.filter(JsonRpc.isRequest).filter((request) => request.method === method),
    end: () => Deferred.doneUnsafe(ended, Effect.void)
  }
})
