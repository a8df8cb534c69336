/**
 * Middleware that answers every request from the upstream server.
 *
 * Lists, completion and discovery are queries: a request and its answer. Tools, prompts and resources are calls, which may ask, report
 * and log. Subscriptions relay notifications.
 */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { areTold } from "@effect-mcp/client/internal/UrlElicitations"
import { elicitationModes } from "@effect-mcp/core/ClientInput"
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { isId } from "@effect-mcp/protocol/JsonRpc"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isAtLeast, type LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { listen } from "./Listening.ts"
import * as Translation from "./Translation.ts"
import type { Upstream } from "./Upstream.ts"
import type { UpstreamCall } from "./UpstreamCall.ts"
import type { UpstreamCalls } from "./UpstreamCalls.ts"
import type { DownstreamClient, Upstreams } from "./Upstreams.ts"

type Request = Middleware.Request
type RequestOf<M extends Request["method"]> = Extract<Request, { readonly method: M }>
type Calling = RequestOf<"prompts/get" | "resources/read" | "tools/call">
type Answer = Effect.Effect<Middleware.Result, McpError.McpError, RequestServices>

const noMeta: JsonObject = {}

const downstreamClient = Effect.map(
  Effect.all([RequestContext, Principal]),
  ([{ clientCapabilities, clientInfo, revision, outbound }, principal]): DownstreamClient => ({
    capabilities: clientCapabilities,
    clientInfo,
    revision,
    principal,
    connection: outbound.connection
  })
)

export interface Options {
  readonly upstreams: Upstreams
  readonly calls: UpstreamCalls
  /** How long a request waits for an upstream server that is lost. */
  readonly reconnectTimeout: Duration.Input
}

interface Relay extends Options {
  /** The level of log messages that each conversation has asked its server for. */
  readonly logLevels: WeakMap<Upstream, LoggingLevel>
}

/** Answers every request but `initialize` and `ping`, which no middleware sees. */
export const make = (options: Options): Middleware.Middleware => {
  const relay: Relay = { ...options, logLevels: new WeakMap() }
  return (request, next) => Effect.flatMap(answer(relay, request, next), (result) => signed(relay, result))
}

const acquire = ({ upstreams }: Relay) => Effect.flatMap(downstreamClient, (client) => upstreams.acquire(client, false))

const answer = (relay: Relay, request: Request, next: Middleware.Next): Answer => {
  switch (request.method) {
    case "tools/call":
    case "prompts/get":
    case "resources/read":
      return call(relay, request)
    case "server/discover":
      return Effect.gen(function* () {
        const { client } = yield* acquire(relay)
        const { _meta, ...own } = yield* next
        return { ...own, ...Translation.identity(client), _meta: { ..._meta, [Meta.serverInfo]: client.serverInfo } }
      })
    case "subscriptions/listen":
      return Effect.gen(function* () {
        const { id, outbound } = yield* RequestContext
        return yield* listen(yield* acquire(relay), id, outbound, request.params.notifications)
      })
    case "resources/subscribe":
    case "resources/unsubscribe":
      return subscription(relay, request)
    case "logging/setLevel":
      return Effect.gen(function* () {
        const { revision } = yield* RequestContext
        const { client } = yield* acquire(relay)
        const set = client.setLogLevel(request.params.level)
        yield* Effect.mapError(set, Translation.toMcpError(request.method, revision))
        return yield* next
      })
    case "initialize":
    case "ping":
      return next
    default:
      return query(relay, request)
  }
}

/** A request that has an answer and nothing else. */
const query = (relay: Relay, { method, params }: Request): Answer =>
  Effect.gen(function* () {
    const { reconnectTimeout } = relay
    const { revision } = yield* RequestContext
    const { client } = yield* acquire(relay)
    const { meta, params: sent } = Translation.outgoing(params ?? {})
    return yield* Effect.mapError(
      // Method and params were decoded together; the correlation is lost on the way through the union.
      client.request(method, sent as never, { reconnectTimeout, ...(meta === undefined ? undefined : { meta }) }),
      Translation.toMcpError(method, revision)
    )
  })

const subscription = (
  relay: Relay,
  { method, params: { uri } }: RequestOf<"resources/subscribe" | "resources/unsubscribe">
): Answer =>
  Effect.gen(function* () {
    const { revision, outbound } = yield* RequestContext
    const { updates } = yield* acquire(relay)
    if (outbound.connection === undefined) return yield* McpError.methodNotFound(method)
    yield* method === "resources/unsubscribe"
      ? updates.unsubscribe(uri)
      : Effect.mapError(updates.subscribe(outbound.connection, uri), Translation.toMcpError(method, revision, uri))
    return {}
  })

/** A request that may ask, report and log. */
const call = (relay: Relay, request: Calling): Answer =>
  Effect.gen(function* () {
    const { calls, reconnectTimeout, upstreams } = relay
    const context = yield* RequestContext
    const client = yield* downstreamClient
    const level = logLevelOf(context)
    const { elicitation, roots, sampling } = client.capabilities
    const mayAsk = (elicitation ?? roots ?? sampling) !== undefined && upstreams.era() !== "stateless"
    const uri = request.method === "resources/read" ? request.params.uri : undefined
    const toMcpError = Translation.toMcpError(request.method, context.revision, uri)
    const agree = agreement(request, context)
    return yield* calls.run<Middleware.Result>({
      acquire: upstreams.acquire(client, mayAsk || level !== undefined),
      send: Effect.fnUntraced(function* (upstream, call) {
        if (agree !== undefined) {
          call.headerParams = yield* Effect.mapError(upstream.headers.of(agree.tool), toMcpError)
          yield* agree.check(call)
        }
        yield* requestLogs(relay, upstream, level)
        const progress = isId(context.meta.progressToken)
        const visiting = !areTold(context.revision) && elicitationModes(client).url
        return yield* Effect.mapError(
          send(upstream, call, request, { progress, reconnectTimeout, visiting }),
          toMcpError
        )
      }),
      admit: (call) => agree?.check(call) ?? Effect.void
    })
  })

/** The level that a request of the stateless era asks for; its codec has decoded it. */
const logLevelOf = ({ meta, revision }: RequestContext["Service"]): LoggingLevel | undefined =>
  revision.era === "stateless" ? (meta[Meta.logLevel] as LoggingLevel | undefined) : undefined

/** Asks the upstream server for the lowest level that any request of the conversation has asked for. */
const requestLogs = ({ logLevels }: Relay, upstream: Upstream, level: LoggingLevel | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = logLevels.get(upstream)
    if (level === undefined || (known !== undefined && isAtLeast(level, known))) return Effect.void
    logLevels.set(upstream, level)
    return Effect.ignore(upstream.client.setLogLevel(level))
  })

/** Names the upstream server in the result where the downstream revision has that (2026-07-28), and nowhere else. */
const signed = (relay: Relay, result: Middleware.Result): Answer =>
  Effect.gen(function* () {
    const { revision } = yield* RequestContext
    const { [Meta.serverInfo]: signature, ...meta } = isJsonObject(result._meta) ? result._meta : noMeta
    if (revision.era === "stateless") {
      if (signature !== undefined) return result
      const { client } = yield* acquire(relay)
      return Meta.withMeta(result, { [Meta.serverInfo]: client.serverInfo })
    }
    if (signature === undefined) return result
    const { _meta, ...unsigned } = result
    return Object.keys(meta).length === 0 ? unsigned : { ...unsigned, _meta: meta }
  })

/** The check that headers agree with the arguments of a tool call (2026-07-28 over HTTP); undefined for every other request. */
const agreement = (request: Calling, { envelope: { headers }, revision }: RequestContext["Service"]) => {
  if (request.method !== "tools/call" || headers === undefined || revision.era === "stateful") return undefined
  const { arguments: args, name } = request.params
  return {
    tool: name,
    check: ({ headerParams }: UpstreamCall<unknown>): Effect.Effect<void, McpError.McpError> => {
      const different = Headers.paramMismatch(headers, headerParams, args)
      if (different === undefined) return Effect.void
      const { code, message } = McpError.headerMismatch(different)
      return Effect.fail(new McpError.McpError({ code, message, data: { tool: name } }))
    }
  }
}

interface Sending {
  /** Whether the caller asked for progress. */
  readonly progress: boolean
  readonly reconnectTimeout: Duration.Input
  readonly visiting: boolean
}

/**
 * Sends a call upstream with its params unchanged, except for a client's own tasks: arguments that travel in headers, too, and URLs to
 * visit first (`visiting`), which the caller's revision cannot express.
 */
const send = (
  { client }: Upstream,
  call: UpstreamCall<Middleware.Result>,
  request: Calling,
  { progress, reconnectTimeout, visiting }: Sending
): Effect.Effect<Middleware.Result, McpClient.ClientError> => {
  const { method } = request
  const { meta, params } = Translation.outgoing(request.params)
  const options: McpClient.CallOptions = {
    // The downstream client decides how long it waits.
    timeout: Duration.infinity,
    maxTotal: Duration.infinity,
    reconnectTimeout,
    onSend: (id) => {
      call.wireId = id
    },
    ...(progress && { onProgress: ({ progress, ...event }) => call.progress(progress, event) }),
    ...(meta === undefined ? undefined : { meta })
  }
  if ("uri" in params)
    return visiting ? client.readResource(params.uri, options) : client.request(method, params, options)
  if (method === "tools/call" && (visiting || client.revision.era === "stateless")) {
    return client.callToolByName(params.name, params.arguments, options)
  }
  return visiting
    ? client.getPromptByName(params.name, params.arguments as { readonly [name: string]: string } | undefined, options)
    : client.request(method, params, options)
}
