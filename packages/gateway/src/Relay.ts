/**
 * What becomes of each request: middleware that answers all of them from the server behind.
 *
 * Lists, completion and discovery are simple questions; tools, prompts and resources are calls, which may ask, report and log; what
 * stands open follows the news of the server behind.
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
import type { Call } from "./Call.ts"
import type { Calls } from "./Calls.ts"
import { listen } from "./Listening.ts"
import * as Translation from "./Translation.ts"
import type { Upstream } from "./Upstream.ts"
import type { Asker, Upstreams } from "./Upstreams.ts"

type Request = Middleware.Request
type RequestOf<M extends Request["method"]> = Extract<Request, { readonly method: M }>
type Calling = RequestOf<"prompts/get" | "resources/read" | "tools/call">
type Answer = Effect.Effect<Middleware.Result, McpError.McpError, RequestServices>

const nothing: JsonObject = {}

const asker = Effect.map(
  Effect.all([RequestContext, Principal]),
  ([{ clientCapabilities, clientInfo, revision, outbound }, principal]): Asker => ({
    capabilities: clientCapabilities,
    clientInfo,
    revision,
    principal,
    connection: outbound.connection
  })
)

/** Answers every request but `initialize` and `ping`, which no middleware sees. */
export const make = (
  upstreams: Upstreams,
  calls: Calls,
  /** How long a request waits for a server behind that is gone. */
  reconnectTimeout: Duration.Input
): Middleware.Middleware => {
  const acquire = Effect.flatMap(asker, (who) => upstreams.acquire(who, false))

  /** A request that nothing comes of but its answer. */
  const query = ({ method, params }: Request): Answer =>
    Effect.gen(function* () {
      const { revision } = yield* RequestContext
      const { client } = yield* acquire
      const { meta, params: sent } = Translation.outgoing(params ?? {})
      return yield* Effect.mapError(
        // Method and params were decoded together; the correlation is lost on the way through the union.
        client.request(method, sent as never, { reconnectTimeout, ...(meta === undefined ? undefined : { meta }) }),
        Translation.toMcpError(method, revision)
      )
    })

  /** One that may ask, report and log. */
  const call = (request: Calling): Answer =>
    Effect.gen(function* () {
      const context = yield* RequestContext
      const who = yield* asker
      // In this era it was decoded with the rest of the declaration.
      const level =
        context.revision.era === "stateless" ? (context.meta[Meta.logLevel] as LoggingLevel | undefined) : undefined
      const { elicitation, roots, sampling } = who.capabilities
      const asked = (elicitation ?? roots ?? sampling) !== undefined && upstreams.era() !== "stateless"
      const uri = request.method === "resources/read" ? request.params.uri : undefined
      const failed = Translation.toMcpError(request.method, context.revision, uri)
      const agree = agreement(request, context)
      return yield* calls.run(
        upstreams.acquire(who, asked || level !== undefined),
        Effect.fnUntraced(function* (upstream: Upstream, call: Call<Middleware.Result>) {
          if (agree !== undefined) {
            call.headerParams = yield* Effect.mapError(upstream.headers.of(agree.tool), failed)
            yield* agree.check(call)
          }
          yield* wantLogs(upstream, level)
          const progress = isId(context.meta.progressToken)
          const visiting = !areTold(context.revision) && elicitationModes(who).url
          return yield* Effect.mapError(send(upstream, call, request, { progress, reconnectTimeout, visiting }), failed)
        }),
        (call) => agree?.check(call) ?? Effect.void
      )
    })

  const levels = new WeakMap<Upstream, LoggingLevel>()
  /** Where every request says what it wants to be told: the server behind is asked for the most that any wanted. */
  const wantLogs = (upstream: Upstream, level: LoggingLevel | undefined): Effect.Effect<void> =>
    Effect.suspend(() => {
      const known = levels.get(upstream)
      if (level === undefined || (known !== undefined && isAtLeast(level, known))) return Effect.void
      levels.set(upstream, level)
      return Effect.ignore(upstream.client.setLogLevel(level))
    })

  const relay: Middleware.Middleware = (request, next) => {
    switch (request.method) {
      case "tools/call":
      case "prompts/get":
      case "resources/read":
        return call(request)
      case "server/discover":
        return Effect.gen(function* () {
          const { client } = yield* acquire
          const { _meta, ...own } = yield* next
          return { ...own, ...Translation.identity(client), _meta: { ..._meta, [Meta.serverInfo]: client.serverInfo } }
        })
      case "subscriptions/listen":
        return Effect.gen(function* () {
          const { id, outbound } = yield* RequestContext
          return yield* listen(yield* acquire, id, outbound, request.params.notifications)
        })
      case "resources/subscribe":
      case "resources/unsubscribe":
        return Effect.gen(function* () {
          const { revision, outbound } = yield* RequestContext
          const { subscribe, unsubscribe } = yield* acquire
          const { uri } = request.params
          if (outbound.connection === undefined) return yield* McpError.methodNotFound(request.method)
          yield* request.method === "resources/unsubscribe"
            ? unsubscribe(uri)
            : Effect.mapError(
                subscribe(outbound.connection, uri),
                Translation.toMcpError(request.method, revision, uri)
              )
          return {}
        })
      case "logging/setLevel":
        return Effect.gen(function* () {
          const { revision } = yield* RequestContext
          const { client } = yield* acquire
          const set = client.setLogLevel(request.params.level)
          yield* Effect.mapError(set, Translation.toMcpError(request.method, revision))
          return yield* next
        })
      case "initialize":
      case "ping":
        return next
      default:
        return query(request)
    }
  }

  /** Where answers name who gave them, that is the server behind, whether it named itself or not; elsewhere it is not said. */
  const signed: Middleware.Middleware = (request, next, proceed) =>
    Effect.gen(function* () {
      const result = yield* relay(request, next, proceed)
      const { revision } = yield* RequestContext
      const { [Meta.serverInfo]: signature, ...meta } = isJsonObject(result._meta) ? result._meta : nothing
      if (revision.era === "stateless") {
        if (signature !== undefined) return result
        const { client } = yield* acquire
        return Meta.withMeta(result, { [Meta.serverInfo]: client.serverInfo })
      }
      if (signature === undefined) return result
      const { _meta, ...unsigned } = result
      return Object.keys(meta).length === 0 ? unsigned : { ...unsigned, _meta: meta }
    })

  return signed
}

/** Where a tool is called with headers (2026-07-28 over HTTP), they must agree with its arguments. */
const agreement = (request: Calling, { envelope: { headers }, revision }: RequestContext["Service"]) => {
  if (request.method !== "tools/call" || headers === undefined || revision.era === "stateful") return undefined
  const { arguments: args, name } = request.params
  return {
    tool: name,
    check: ({ headerParams }: Call<unknown>): Effect.Effect<void, McpError.McpError> => {
      const different = Headers.paramMismatch(headers, headerParams, args)
      if (different === undefined) return Effect.void
      const { code, message } = McpError.headerMismatch(different)
      return Effect.fail(new McpError.McpError({ code, message, data: { tool: name } }))
    }
  }
}

interface Sending {
  /** Whether the caller wants to know how far it is. */
  readonly progress: boolean
  readonly reconnectTimeout: Duration.Input
  readonly visiting: boolean
}

/**
 * Sends a call behind, as it is; but for what is a client's own matter: arguments that travel in headers, too, and (`visiting`) pages to
 * visit first, that the caller's revision has no words for.
 */
const send = (
  { client }: Upstream,
  call: Call<Middleware.Result>,
  request: Calling,
  { progress, reconnectTimeout, visiting }: Sending
): Effect.Effect<Middleware.Result, McpClient.ClientError> => {
  const { method } = request
  const { meta, params } = Translation.outgoing(request.params)
  const options: McpClient.CallOptions = {
    // How long is the caller's matter.
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
