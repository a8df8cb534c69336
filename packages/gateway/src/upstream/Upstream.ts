/**
 * One connection to the upstream server, on behalf of one downstream client.
 *
 * Declares that client's capabilities. A question goes to the call that it belongs to: the call whose fiber asks, or whose exchange carried
 * it, else the oldest running call, else the client's session. Without any of these it is rejected. Logs are routed the same way.
 */
import { Requester } from "@effect-mcp/client/Requester"
import { ClientMiddleware } from "@effect-mcp/client/ClientMiddleware"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import type { Transport } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import { type ListKind, listKinds } from "@effect-mcp/protocol/MethodInfo"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Path from "../Path.ts"
import { ListedTools } from "./ListedTools.ts"
import { notify, ResourceUpdates } from "./ResourceUpdates.ts"
import { TaskQuestions, withoutTask } from "../tasks/TaskQuestions.ts"
import { asAsked, receiving } from "../tasks/TaskReceiving.ts"
import * as Tasks from "../tasks/Tasks.ts"
import * as Translation from "../Translation.ts"
import * as UnknownMethods from "../call/UnknownMethods.ts"
import { CurrentCall, type Put, type PutRelated, type UpstreamCall } from "../call/UpstreamCall.ts"

/** The client that the connection is for. */
export interface Downstream extends ClientInput.ClientDeclaration {
  readonly clientInfo: Implementation | undefined
  readonly connection: RequestConnection | undefined
  /** The gateways between the client and this one. */
  readonly path: Path.Path
}

export interface Options<E> {
  /** Identifies this gateway in the paths of connections. */
  readonly id: string
  readonly connector: Effect.Effect<Transport, E, Scope.Scope>
  readonly client: McpClient.Options
  /** True if clients see tools in projected form. */
  readonly projects: boolean
  /** The connector's and the client's services. */
  readonly context: Context.Context<never>
  /** Revisions of downstream clients that the upstream server turned out not to support. */
  readonly unsupported: Set<Version>
}

export interface Upstream {
  readonly client: McpClient.McpClient["Service"]
  readonly tools: ListedTools
  /** Running calls, oldest first. */
  readonly calls: Set<UpstreamCall<unknown>>
  readonly taskQuestions: TaskQuestions
  readonly updates: ResourceUpdates
  /** Lowest log level that the server was asked for, or `undefined` before the first such request. */
  logLevel: LoggingLevel | undefined
}

type Version = Revision.Version

const unrelated = McpError.invalidRequest("No running request belongs to this question")

type Ask = <M extends ClientInput.QuestionMethod>(
  method: M,
  params: Method.ServerRequests[M]["params"]
) => Effect.Effect<Method.ServerRequests[M]["result"], ClientInput.AskError | McpError.McpError>

/** Asks a question in the call that it belongs to, or else in the client's session. */
type Route = <A>(
  relatedTo: JsonRpc.Id | undefined,
  method: string,
  put: Put<A>,
  options: ClientInput.AskOptions
) => Effect.Effect<A, ClientInput.AskError | McpError.McpError>

const routing =
  (calls: ReadonlySet<UpstreamCall<unknown>>, connection: RequestConnection | undefined): Route =>
  (relatedTo, method, put, options) =>
    Effect.flatMap(CurrentCall, (current) => {
      const call = current ?? callOf(calls, relatedTo)
      if (call !== undefined) {
        return Effect.catchTag(call.ask(method, put, options), "CallEnded", ({ isInterrupted }) =>
          // Without a known call, the related one was a guess, so try the next. A caller that left is not asked again.
          current === undefined && !(isInterrupted && calls.size === 0)
            ? routing(calls, connection)(relatedTo, method, put, options)
            : Effect.fail(unrelated)
        )
      }
      const input = connection?.input
      return input === undefined ? Effect.fail(unrelated) : put(input, options)
    })

/** Routes the question that is being answered, with the progress of its answer. */
const related =
  (route: Route): PutRelated =>
  (method, put) =>
    Effect.flatMap(Requester, (requester) => {
      let reported = false
      const progress = requester?.progress
      const onProgress: ClientInput.AskOptions["onProgress"] =
        progress &&
        ((event) => {
          reported = true
          progress(event)
        })
      return Effect.ensuring(
        route(requester?.relatedTo, method, put, { key: requester?.key, onProgress }),
        // Progress goes in a separate write: a server that reads it together with the answer may drop it.
        Effect.suspend(() => (reported ? Effect.yieldNow : Effect.void))
      )
    })

/** Returns the call with this ID on the wire, or else the oldest running call. */
const callOf = (
  calls: ReadonlySet<UpstreamCall<unknown>>,
  id: JsonRpc.Id | undefined
): UpstreamCall<unknown> | undefined => {
  const [oldest] = calls
  if (id !== undefined) for (const call of calls) if (call.wireId === id) return call
  return oldest
}

/** Returns the services that correspond to a client's declaration. Each forwards its questions. */
const relays = (ask: Ask, downstream: Downstream): Context.Context<never> => {
  const { capabilities, connection, revision } = downstream
  const map = new Map<string, unknown>()
  const modes = ClientInput.elicitationModes(downstream)
  if (modes.form || modes.url) {
    map.set(Elicitation.key, {
      modes,
      elicit: (params) => ask("elicitation/create", params.mode === "url" ? withElicitationId(params) : params)
    } satisfies Elicitation["Service"])
  }
  if (capabilities.sampling !== undefined && revision.serverRequests["sampling/createMessage"] !== undefined) {
    map.set(Sampling.key, {
      capabilities: ClientInput.samplingCapabilities(downstream),
      createMessage: (params) => ask("sampling/createMessage", params)
    } satisfies Sampling["Service"])
  }
  if (capabilities.roots !== undefined) {
    map.set(Roots.key, {
      list: Effect.map(
        Effect.suspend(() => ask("roots/list", {})),
        ({ roots }) => roots
      ),
      changes: capabilities.roots.listChanged === true ? connection?.rootsChanges : undefined
    } satisfies Roots["Service"])
  }
  return Context.makeUnsafe(map)
}

/** Adds the id that a URL elicitation needs in 2025-11-25. A server without sessions sends none and never announces completion. */
const withElicitationId = <P extends { readonly elicitationId?: string | undefined }>(params: P): P =>
  params.elicitationId === undefined ? { ...params, elicitationId: globalThis.crypto.randomUUID() } : params

/**
 * Opens the connection in the downstream client's revision or an older one, because values that an era cannot express are lost in
 * translation. If the server supports none of them, uses the newest revision that it supports.
 */
const openAlike = <A extends { readonly revision: Revision.Revision }, E, R>(
  { client, unsupported }: Pick<Options<never>, "client" | "unsupported">,
  { revision: { era, version } }: Downstream,
  openIn: (revisions: ReadonlyArray<Version>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const allowed = client.revisions ?? Revision.all.map((one) => one.version)
    const older = Revision.stateful.map((one) => one.version).filter((one) => one <= version && allowed.includes(one))
    if (era === "stateless" || older.length === 0 || unsupported.has(version)) return openIn(allowed)
    return Effect.catch(openIn(older), () =>
      Effect.tap(openIn(allowed), ({ revision }) =>
        Effect.sync(() => {
          if (!older.includes(revision.version)) unsupported.add(version)
        })
      )
    )
  })

/** Opens a connection in the scope. */
export const open = Effect.fnUntraced(function* <E>(
  options: Options<E>,
  downstream: Downstream
): Effect.fn.Return<Upstream, McpClient.ConnectError | E, Scope.Scope> {
  const { clientInfo, connection } = downstream
  const calls = new Set<UpstreamCall<unknown>>()
  const scope = yield* Scope.Scope
  const put = related(routing(calls, connection))
  const ask: Ask = (method, params) =>
    asAsked((task) => put(method, (input, options) => input.ask(method, withoutTask(params), { ...options, ...task })))
  const taskQuestions = new TaskQuestions(calls)
  const services = Context.mergeAll(options.context, relays(ask, downstream), yield* receiving(downstream)).pipe(
    Context.add(ClientMiddleware, [
      ...Option.getOrElse(Context.getOption(options.context, ClientMiddleware), () => []),
      { question: taskQuestions.question },
      { question: UnknownMethods.questions(put) }
    ])
  )
  const session = connection?.input === undefined ? undefined : connection
  const announcesCompletion = knowsCompletions(downstream)
  /** Methods of the notifications that have arrived, including those that arrive before the relays run. */
  const arrived = new Set<string>()
  // Called in the reader, so that a notification reaches the call before the answer that follows it.
  const onAnnouncement: McpClient.Options["onAnnouncement"] = ({ method, params }, relatedTo) => {
    if (method === "notifications/message") {
      const call = callOf(calls, relatedTo)
      if (call === undefined) session?.notify(method, { ...params })
      else call.log(params)
    } else if (method === "notifications/elicitation/complete") {
      if (announcesCompletion) session?.notify(method, { ...params })
    } else arrived.add(method)
  }
  const openIn = (revisions: ReadonlyArray<Version>) =>
    McpClient.open(options.connector, {
      ...options.client,
      tasks: Tasks.mayHave(downstream),
      openingMeta: Path.metaOf(downstream.path, options.id),
      revisions,
      onAnnouncement,
      onUnknownNotification: (notification) =>
        UnknownMethods.announce(callOf(calls, notification.relatedTo), session, notification),
      declaredIn: (revision) => {
        const { experimental, extensions } = options.client
        const own = { ...(experimental && { experimental }), ...(extensions && { extensions }) }
        return { ...own, ...Translation.declared(downstream.capabilities, downstream.revision, revision) }
      },
      ...(clientInfo === undefined ? undefined : { clientInfo })
    })
  const client = yield* openAlike(options, downstream, openIn).pipe(
    // The first request's services are left out, because the connection outlives it.
    Effect.updateContext((_request: Context.Context<never>) => Context.add(services, Scope.Scope, scope))
  )
  if (session !== undefined) yield* relayListChanges(client, session, arrived)
  const updates = new ResourceUpdates(client, scope)
  return {
    client,
    tools: new ListedTools(client, scope, options.projects),
    calls,
    taskQuestions,
    updates,
    logLevel: undefined
  }
})

/**
 * Notifies a session of changed lists, even if the upstream server has not declared that it announces them. `arrived` has the methods of
 * the notifications that came while the connection was being opened.
 */
const relayListChanges = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  connection: RequestConnection,
  arrived: ReadonlySet<string>
): Effect.fn.Return<void, never, Scope.Scope> {
  const changed = (kind: ListKind) => notify(connection, `notifications/${kind}/list_changed`)
  for (const kind of listKinds) {
    yield* Effect.forkScoped(
      Stream.runForEach(McpClient.changesOf(client, kind), () => changed(kind)),
      { startImmediately: true }
    )
    if (arrived.has(`notifications/${kind}/list_changed`)) yield* Effect.forkScoped(changed(kind))
  }
  const ready = yield* Effect.forkScoped(Effect.result(client.changesReady), { startImmediately: true })
  if (Option.isSome(yield* Effect.timeoutOption(Fiber.join(ready), changesTimeout))) return
  // The client may read lists before the upstream server starts to announce changes. It then has to read them again.
  yield* Effect.forkScoped(
    Effect.flatMap(Fiber.join(ready), (announced) =>
      Result.isFailure(announced) ? Effect.void : Effect.forEach(listKinds, changed, { discard: true })
    )
  )
})

/** How long `initialize` waits for the upstream server to start announcing list changes. */
const changesTimeout = "1 second"

/** True if the client is notified when a URL elicitation is complete. */
const knowsCompletions = ({ capabilities: { elicitation }, revision: { serverNotifications } }: Downstream): boolean =>
  serverNotifications["notifications/elicitation/complete"] !== undefined && elicitation?.url !== undefined
