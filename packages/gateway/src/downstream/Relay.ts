/**
 * Middleware that answers every request with the help of the upstream server.
 *
 * Lists, completion and discovery are queries, with a single request and response. Tools, prompts and resources are calls, which may ask
 * questions, report progress and log. Subscriptions forward notifications.
 */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { areTold, CurrentTaskHandling } from "@effect-mcp/client/internal/relaying"
import { elicitationModes } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { isId, request } from "@effect-mcp/protocol/JsonRpc"
import { EncodedResult, isEncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isAtLeast, type LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Middleware from "@effect-mcp/server/Middleware"
import { CoreTasks, isMethod as isTaskMethod, type TaskMaker } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { listen } from "./Listening.ts"
import * as Path from "../Path.ts"
import * as Tasks from "../tasks/Tasks.ts"
import * as Translation from "../Translation.ts"
import type { Upstream } from "../upstream/Upstream.ts"
import type { UpstreamCall } from "../call/UpstreamCall.ts"
import type * as UpstreamCalls from "../upstream/UpstreamCalls.ts"
import type { DownstreamClient, Upstreams } from "../upstream/Upstreams.ts"

type Request = Middleware.Request
type RequestOf<M extends Request["method"]> = Extract<Request, { readonly method: M }>
type Calling = RequestOf<"prompts/get" | "resources/read" | "tools/call">
type Answer = Effect.Effect<Middleware.Result, McpError.McpError, RequestServices>

const noMeta: JsonObject = {}

const downstreamClient = Effect.map(
  Effect.all([RequestContext, Principal]),
  ([{ clientCapabilities, clientInfo, envelope, meta, revision, outbound }, principal]): DownstreamClient => ({
    capabilities: clientCapabilities,
    clientInfo,
    revision,
    principal,
    address: envelope.address,
    connection: outbound.connection,
    path: Path.of(meta)
  })
)

export interface Options {
  readonly upstreams: Upstreams
  readonly calls: UpstreamCalls.UpstreamCalls
  /** How long a request waits for a lost upstream server. */
  readonly reconnectTimeout: Duration.Input
  /** The param that the `Mcp-Name` header mirrors, by method, for the extensions that the gateway knows. */
  readonly nameParams: ReadonlyMap<string, string>
  /** Creates the gateway's tasks. */
  readonly tasks: TaskMaker
  /** Whether to declare every list. Lists the upstream server doesn't have are empty. */
  readonly changingLists: boolean
}

/** Answers every request except `initialize` and `ping`, which middleware never sees. */
export const make =
  (relay: Options): Middleware.Middleware =>
  (request, next) =>
    Effect.flatMap(answer(relay, request, next), (result) => signed(relay, result))

const acquire = ({ upstreams }: Options) =>
  Effect.flatMap(downstreamClient, (client) => upstreams.acquire(client, false))

const answer = (relay: Options, request: Request, next: Middleware.Next): Answer => {
  if (Middleware.isOwn(request)) return own(relay, request, next)
  switch (request.method) {
    case "tools/call":
      return callTool(relay, request)
    case "prompts/get":
    case "resources/read":
      return Effect.flatMap(calling(relay, request), (call) => call("request"))
    case "server/discover":
      return Effect.gen(function* () {
        const { client } = yield* acquire(relay)
        const result = yield* next
        if (isEncodedResult(result)) return result
        const { _meta, ...own } = result
        const { revision } = yield* RequestContext
        const { capabilities, ...identity } = Translation.identity(client, revision, relay.changingLists)
        return {
          ...own,
          ...identity,
          ...("capabilities" in own && { capabilities: Tasks.offered(capabilities, client, own.capabilities) }),
          _meta: { ..._meta, [Meta.serverInfo]: client.serverInfo }
        }
      })
    case "subscriptions/listen":
      return Effect.gen(function* () {
        const { id, outbound } = yield* RequestContext
        const upstream = yield* acquire(relay)
        const { serverCapabilities: own } = upstream.client
        const declared = relay.changingLists ? Translation.withChangingLists(own) : own
        return yield* listen(relay.tasks, upstream, declared, id, outbound, request.params.notifications)
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
      return query(relay, request, next)
  }
}

/** True if the method returns a list that the upstream server has not declared. */
const lacksList = ({ revision, serverCapabilities }: McpClient.McpClient["Service"], method: string): boolean => {
  const info = MethodInfo.ofRequest(method)
  if (info?.list === undefined) return false
  return MethodInfo.missingCapability(info, serverCapabilities, revision.rules) !== undefined
}

/** Forwards a request that has an answer and no other messages. */
const query = (
  relay: Options,
  { method, params }: Exclude<Request, Middleware.ExtensionRequest>,
  next: Middleware.Next
): Answer =>
  Effect.gen(function* () {
    const { reconnectTimeout } = relay
    const { revision } = yield* RequestContext
    const { client, tools } = yield* acquire(relay)
    // The gateway's own list is empty.
    if (relay.changingLists && lacksList(client, method)) return yield* next
    const { meta, params: sent } = Translation.outgoing(params ?? {})
    const result = yield* Effect.mapError(
      // Method and params were decoded together; the union loses their correlation.
      client.request(method, sent as never, { reconnectTimeout, ...(meta === undefined ? undefined : { meta }) }),
      Translation.toMcpError(method, revision)
    )
    if (!("tools" in result)) return result
    const listed = Tasks.listed(result, client, revision)
    return { ...listed, tools: yield* tools.shown(listed.tools) }
  })

const subscription = (
  relay: Options,
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

/** Answers an extension's request. The gateway itself answers task methods. */
const own = (relay: Options, request: Middleware.ExtensionRequest, next: Middleware.Next): Answer =>
  Effect.flatMap(RequestContext, ({ revision }) =>
    isTaskMethod(request.method, revision) && relay.upstreams.tasks() !== "none" ? next : unknown(relay, request)
  )

/** Forwards a request whose method the gateway does not know. Params and result are in wire form. */
const unknown = (relay: Options, { method, params }: Middleware.ExtensionRequest): Answer =>
  Effect.gen(function* () {
    const { calls, upstreams } = relay
    const { meta, revision } = yield* RequestContext
    const client = yield* downstreamClient
    const headers = yield* nameHeader(relay, method, params)
    return yield* calls.run<Middleware.Result>({
      caller: callerKey(client.principal, client.address),
      // The upstream server may ask and notify. Those messages must not reach another request.
      acquire: upstreams.acquire(client, true),
      send: ({ client }, call) =>
        client.raw
          .request(method, Translation.unknownParams(params, revision), {
            ...callOptions(relay, call, isId(meta.progressToken)),
            headers
          })
          .pipe(
            Effect.mapError(Translation.toMcpError(method, revision)),
            Effect.flatMap((wire) => Translation.result(method, wire, client.revision, revision))
          ),
      admit: () => Effect.void
    })
  })

/**
 * Returns the `Mcp-Name` header for an unknown method. If the gateway does not know which param it mirrors, it forwards the caller's
 * header, because an upstream server over HTTP compares them.
 */
const nameHeader = ({ nameParams }: Options, method: string, params: JsonObject) =>
  Effect.gen(function* () {
    const { envelope, id, revision } = yield* RequestContext
    const nameParam = nameParams.get(method)
    const given = envelope.headers?.[Headers.name]
    if (nameParam === undefined) return given === undefined ? {} : { [Headers.name]: given }
    if (envelope.headers !== undefined && revision.era === "stateless") {
      const different = Headers.mismatch(envelope.headers, request(id, method, params), () => nameParam)
      if (different !== undefined) return yield* McpError.headerMismatch(different)
    }
    const name = params[nameParam]
    return typeof name === "string" ? { [Headers.name]: Headers.encode(name) } : {}
  })

/** Returns the options for a request whose downstream client decides how long to wait. */
const callOptions = (
  { reconnectTimeout }: Pick<Options, "reconnectTimeout">,
  call: UpstreamCall<Middleware.Result>,
  progress: boolean
): McpClient.CallOptions => ({
  timeout: Duration.infinity,
  maxTotal: Duration.infinity,
  reconnectTimeout,
  onSend: (id) => {
    call.wireId = id
  },
  ...(progress && { onProgress: ({ progress, ...event }) => call.progress(progress, event) })
})

/** Forwards a tool call, which may become a task. */
const callTool = (relay: Options, request: RequestOf<"tools/call">): Answer =>
  Effect.gen(function* () {
    const { params } = request
    const { tasks, upstreams } = relay
    const { revision } = yield* RequestContext
    const acquired = upstreams.acquire(yield* downstreamClient, false)
    const generation =
      upstreams.tasks() ?? (yield* Effect.scoped(Effect.map(acquired, ({ client }) => Tasks.generationOf(client))))
    const taskSupport = (name: string) =>
      Effect.flatMap(acquired, ({ tools }) =>
        Effect.mapError(tools.taskSupport(name), Translation.toMcpError(request.method, revision))
      )
    const fate = yield* Effect.scoped(Tasks.fateOf(tasks, { generation, taskSupport }, params))
    const call = yield* calling(relay, request)
    return yield* fate === "task"
      ? tasks.make(params, stored(relay, call(fate)))
      : call(fate, (rest) => tasks.make(params, stored(relay, rest)))
  })

/** Returns the result of a call that has become a task, which stores it. */
const stored = (relay: Options, result: Answer): Answer => Effect.flatMap(result, (result) => signed(relay, result))

type OnTask = UpstreamCalls.Start<Middleware.Result, RequestServices>["onTask"]

/** Forwards a request that may ask, report and log for its caller. It may still run after the request has been answered. */
const calling = (relay: Options, request: Calling) =>
  Effect.gen(function* () {
    const { calls, reconnectTimeout, upstreams } = relay
    const context = yield* RequestContext
    const client = yield* downstreamClient
    const level = logLevelOf(context)
    const { elicitation, experimental, extensions, roots, sampling } = client.capabilities
    const asked = elicitation ?? roots ?? sampling ?? experimental ?? extensions
    const mayAsk = asked !== undefined && upstreams.era() !== "stateless"
    const uri = request.method === "resources/read" ? request.params.uri : undefined
    const toMcpError = Translation.toMcpError(request.method, context.revision, uri)
    const agree = agreement(request, context)
    return (fate: Tasks.Fate, onTask?: OnTask): Answer =>
      calls.run<Middleware.Result, RequestServices>({
        caller: callerKey(client.principal, client.address),
        acquire: upstreams.acquire(client, mayAsk || level !== undefined),
        send: Effect.fnUntraced(function* (upstream, call) {
          if (agree !== undefined) {
            call.headerParams = yield* Effect.mapError(upstream.tools.headers(agree.tool), toMcpError)
            yield* agree.check(call)
          }
          yield* requestLogs(upstream, level)
          const progress = fate !== "request" || isId(context.meta.progressToken)
          const visiting = !areTold(context.revision) && elicitationModes(client).url
          const byName = fate === "task" || !Extension.isIn(CoreTasks, context.revision)
          const sending = { progress, reconnectTimeout, visiting, byName }
          return yield* Effect.flatMap(original(upstream, request), (sent) => send(upstream, call, sent, sending)).pipe(
            Effect.provideService(CurrentTaskHandling, {
              asks: false,
              prefers: fate === "task",
              created: ({ id }) => {
                call.becomeTask(id)
                upstream.taskQuestions.begun(call)
              }
            }),
            Effect.catch((error): Effect.Effect<Middleware.Result, McpError.McpError> => {
              const { revision } = upstream.client
              return Translation.isOtherKind(error, revision)
                ? Translation.result(request.method, error.result, revision, context.revision)
                : Effect.fail(toMcpError(error))
            })
          )
        }),
        onTask: fate === "either" ? onTask : undefined,
        admit: (call) => agree?.check(call) ?? Effect.void
      })
  })

/** Returns the call with the argument names of the upstream server's schemas. */
const original = ({ tools }: Upstream, request: Calling): Effect.Effect<Calling, McpClient.ClientError> =>
  request.method === "tools/call"
    ? Effect.map(tools.original(request.params), (params) => ({ ...request, params }))
    : Effect.succeed(request)

/** Returns the level that a stateless request asks for. Its codec has already decoded it. */
const logLevelOf = ({ meta, revision }: RequestContext["Service"]): LoggingLevel | undefined =>
  revision.era === "stateless" ? (meta[Meta.logLevel] as LoggingLevel | undefined) : undefined

/** Asks the upstream server for the lowest log level that any request on the connection has asked for. */
const requestLogs = (upstream: Upstream, level: LoggingLevel | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = upstream.logLevel
    if (level === undefined || (known !== undefined && isAtLeast(level, known))) return Effect.void
    upstream.logLevel = level
    return Effect.ignore(upstream.client.setLogLevel(level))
  })

/** Adds the upstream server's identity to the result if the downstream revision has it there (2026-07-28). */
const signed = (relay: Options, result: Middleware.Result): Answer =>
  Effect.gen(function* () {
    if (isEncodedResult(result)) {
      const { resultType, wire } = result
      return EncodedResult.relayed(resultType, yield* signedWire(relay, wire))
    }
    return yield* signedWire(relay, result)
  })

const signedWire = <A extends object>(relay: Options, result: A & { readonly _meta?: unknown }) =>
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

/** Returns the check that a tool call's headers agree with its arguments (2026-07-28 over HTTP), or `undefined` for every other request. */
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
  /** True if the caller asked for progress. */
  readonly progress: boolean
  readonly reconnectTimeout: Duration.Input
  readonly visiting: boolean
  /** True if a tool call may ask for a task even though its caller did not. */
  readonly byName: boolean
}

/**
 * Sends a call upstream. Its params are unchanged, except for a client's own tasks, arguments that are also sent in headers, and URLs to
 * visit first (`visiting`), which the caller's revision cannot express.
 */
const send = (
  { client }: Upstream,
  call: UpstreamCall<Middleware.Result>,
  request: Calling,
  { byName, progress, reconnectTimeout, visiting }: Sending
): Effect.Effect<Middleware.Result, McpClient.ClientError> => {
  const { method } = request
  const { meta, params } = Translation.outgoing(request.params)
  const options: McpClient.CallOptions = {
    ...callOptions({ reconnectTimeout }, call, progress),
    ...(meta === undefined ? undefined : { meta })
  }
  if ("uri" in params)
    return visiting ? client.readResource(params.uri, options) : client.request(method, params, options)
  const hasTasks = byName && Tasks.generationOf(client) !== "none"
  if (method === "tools/call" && (visiting || hasTasks || client.revision.era === "stateless")) {
    return client.callToolByName(params.name, params.arguments, options)
  }
  return visiting
    ? client.getPromptByName(params.name, params.arguments as { readonly [name: string]: string } | undefined, options)
    : client.request(method, params, options)
}
