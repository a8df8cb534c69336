/** A client that only sends and records: core's Peer over a memory pair, with every message that arrives. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import * as McpServer from "@effect-mcp/server/McpServer"
import type { Session } from "../../src/session/Session.ts"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Context, Effect, Layer, Queue, type Scope, Stream } from "effect"

export { quiesce }

export type Answer = (method: string, params: any) => Effect.Effect<unknown, McpError.McpError>

export interface ConnectOptions {
  /**
   * Default: the newest revision with a handshake. A stateless revision has no handshake: every request states its revision.
   */
  readonly version?: string
  /** The log level of every request, in the stateless era only. Default: not sent. */
  readonly logLevel?: string
  readonly capabilities?: object
  /** Answers the server's questions. Default: never answers. */
  readonly answer?: Answer
  readonly principal?: Principal["Service"]
  /** The network address of the client. Default: unknown. */
  readonly address?: string
  readonly limits?: Memory.Options
  readonly grace?: "1 second"
  /** `false` only connects, `"answered"` leaves `initialized` to the test. Default: the whole handshake. */
  readonly handshake?: false | "answered"
}

export interface Client {
  readonly session: Session
  readonly peer: Peer.Peer
  /** The answer to `initialize` if the handshake was made, or to `server/discover`. */
  readonly initialized: any
  /** Every message that arrived, oldest first. */
  readonly received: ReadonlyArray<any>
  /** Notifications of one method. */
  readonly notes: (method: string) => ReadonlyArray<any>
  /** Questions that the server has asked. */
  readonly asked: ReadonlyArray<{ readonly method: string; readonly params: any }>
  /** Waits for the next question. */
  readonly nextAsk: Effect.Effect<{ readonly method: string; readonly params: any }>
  readonly request: (method: string, params?: object) => Effect.Effect<any, Peer.RequestError>
  /** Sends a request that must fail, and returns the McpError. */
  readonly refused: (method: string, params?: object) => Effect.Effect<McpError.McpError>
  readonly call: (name: string, args?: object, meta?: object) => Effect.Effect<any, Peer.RequestError>
  readonly notify: (method: string, params?: object) => Effect.Effect<void>
  /** Puts a message on the wire unchanged, valid or not. */
  readonly send: (message: unknown) => void
}

/** The stateless revision. */
const latest: Revision.Version = "2026-07-28"

/** Serves in the scope. */
export const serve = <E, R>(
  options: Partial<McpServer.Options<E, R>> & Pick<McpServer.Options<E, R>, "features">
): Effect.Effect<
  McpServer.McpServer["Service"],
  E,
  Scope.Scope | Layer.Services<ReturnType<typeof McpServer.layer<E, R>>>
> =>
  Effect.map(Layer.build(Layer.fresh(McpServer.layer({ name: "test", version: "1.2.3", ...options }))), (context) =>
    Context.get(context, McpServer.McpServer)
  )

/** Removes the fields that every answer of the stateless era has, so that the rest compares with older revisions. */
const plain = ({ _meta, cacheScope: _scope, resultType: _type, ttlMs: _ttl, ...result }: any) => {
  const { [Meta.serverInfo]: _info, ...meta } = _meta ?? {}
  return Object.keys(meta).length === 0 ? result : { ...result, _meta: meta }
}

/** Requests of the stateless era: they carry their context, and are sent again with the answers to questions. */
const stateless =
  (
    peer: Peer.Peer,
    { answer, capabilities = {}, logLevel }: ConnectOptions,
    note: (question: { readonly method: string; readonly params: any }) => void
  ): Client["request"] =>
  (method, params: { readonly _meta?: object } = {}) =>
    Effect.gen(function* () {
      const _meta = {
        [Meta.protocolVersion]: latest,
        [Meta.clientInfo]: { name: "raw", version: "0" },
        [Meta.clientCapabilities]: capabilities,
        ...(logLevel === undefined ? undefined : { [Meta.logLevel]: logLevel }),
        ...params._meta
      }
      let retry: object = {}
      for (;;) {
        const result: any = yield* peer.request(method, { ...params, ...retry, _meta })
        if (result.resultType !== "input_required") return plain(result)
        const inputResponses: { [key: string]: unknown } = {}
        for (const [key, question] of Object.entries<any>(result.inputRequests)) {
          note(question)
          inputResponses[key] = yield* answer === undefined ? Effect.never : answer(question.method, question.params)
        }
        retry = { inputResponses, requestState: result.requestState }
      }
    })

/** Connects to the server in the scope. */
export const connect = Effect.fnUntraced(function* (
  server: McpServer.McpServer["Service"],
  options: ConnectOptions = {}
): Effect.fn.Return<Client, Peer.RequestError, Scope.Scope> {
  const [near, far] = yield* Memory.pair(options.limits)
  const session = yield* server.connect(far, {
    principal: options.principal,
    address: options.address,
    grace: options.grace
  })
  const received: Array<any> = []
  const asked: Array<{ readonly method: string; readonly params: any }> = []
  const asks = yield* Queue.unbounded<{ readonly method: string; readonly params: any }>()
  const note = (question: { readonly method: string; readonly params: any }) => {
    asked.push(question)
    Queue.offerUnsafe(asks, question)
  }
  const incoming = Stream.tap(near.incoming, (inbound) =>
    Effect.sync(() => {
      if (inbound._tag === "Message") received.push(inbound.message)
      else received.push(inbound)
    })
  )
  const peer = yield* Peer.make(
    { ...near, incoming },
    {
      request: ({ request: { method, params } }) =>
        Effect.suspend(() => {
          note({ method, params })
          return options.answer === undefined ? Effect.never : options.answer(method, params)
        }),
      immediate: ({ method }) => (method === "ping" && options.answer === undefined ? {} : undefined),
      notification: () => {}
    }
  )
  const modern = options.version === latest
  const request: Client["request"] = modern
    ? stateless(peer, options, note)
    : (method, params) => peer.request(method, params as JsonRpc.Params)
  let initialized: unknown
  if (modern) initialized = yield* request("server/discover")
  else if (options.handshake !== false) {
    initialized = yield* request("initialize", {
      protocolVersion: options.version ?? Revision.latestStateful.version,
      capabilities: options.capabilities ?? {},
      clientInfo: { name: "raw", version: "0" }
    })
    if (options.handshake === undefined) peer.notify("notifications/initialized")
    yield* quiesce
  }
  return {
    session,
    peer,
    initialized,
    received,
    notes: (method) => received.filter((message) => message.method === method),
    asked,
    nextAsk: Queue.take(asks),
    request,
    refused: (method, params) =>
      Effect.matchEffect(request(method, params), {
        onFailure: (error) => (error instanceof McpError.McpError ? Effect.succeed(error) : Effect.die(error)),
        onSuccess: (result) => Effect.die(new Error(`${method} was answered: ${JSON.stringify(result)}`))
      }),
    call: (name, args, meta) =>
      request("tools/call", {
        name,
        ...(args === undefined ? undefined : { arguments: args }),
        ...(meta === undefined ? undefined : { _meta: meta })
      }),
    notify: (method, params) =>
      Effect.andThen(
        Effect.sync(() => peer.notify(method, params as JsonRpc.Params)),
        quiesce
      ),
    send: (message) => near.sink.send(message as JsonRpc.Message, "control")
  }
})

/** Opens both at once: a server with features, and a client of one revision. */
export const session = <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  options: ConnectOptions = {},
  serverOptions: Partial<McpServer.Options<never, never>> = {}
): Effect.Effect<Client, E | Peer.RequestError, Scope.Scope> =>
  Effect.flatMap(serve({ ...serverOptions, features }), (server) => connect(server, options))

/** The revisions from `from` to `to`, for suites that run once per revision. */
export const versions = (from: Revision.Version = "2024-11-05", to: Revision.Version = "2025-11-25") =>
  Revision.stateful.map((revision) => revision.version).filter((version) => version >= from && version <= to)

/** The same with the stateless revision, for behaviour that is the same in every revision. */
export const everyVersion = (from: Revision.Version = "2024-11-05"): ReadonlyArray<Revision.Version> => [
  ...versions(from),
  latest
]
