/**
 * One conversation with the upstream server, on behalf of one downstream client.
 *
 * Declares what that client declared. A question goes to the call that it belongs to: the call whose fiber asks, or whose exchange
 * carried it, else the oldest call that runs, else the client's session; without any it is refused. Logs go the same way.
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

/** The client on whose behalf the conversation is held. */
export interface Downstream extends ClientInput.ClientDeclaration {
  readonly clientInfo: Implementation | undefined
  readonly connection: RequestConnection | undefined
  /** The gateways that its conversation has passed. */
  readonly path: Path.Path
}

export interface Options<E> {
  /** Names this gateway in the paths of conversations. */
  readonly id: string
  readonly connector: Effect.Effect<Transport, E, Scope.Scope>
  readonly client: McpClient.Options
  /** The services of the connector and of the client. */
  readonly context: Context.Context<never>
  /** The revisions of downstream clients that the upstream server turned out not to speak. */
  readonly unsupported: Set<Version>
}

export interface Upstream {
  readonly client: McpClient.McpClient["Service"]
  readonly tools: ListedTools
  /** The calls that run, the oldest first. */
  readonly calls: Set<UpstreamCall<unknown>>
  readonly taskQuestions: TaskQuestions
  readonly updates: ResourceUpdates
  /** The least level of log messages that its server was asked for; undefined before the first request for them. */
  logLevel: LoggingLevel | undefined
}

type Version = Revision.Version

const unrelated = McpError.invalidRequest("There is no request in flight that this question could belong to")

type Ask = <M extends ClientInput.QuestionMethod>(
  method: M,
  params: Method.ServerRequests[M]["params"]
) => Effect.Effect<Method.ServerRequests[M]["result"], ClientInput.AskError | McpError.McpError>

/** Puts a question to the call that it belongs to, else to the client's session. */
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
          // Without a known call the related one was a guess: the next is tried. A caller that left is not asked again.
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
        // Progress leaves in a write of its own: a server that reads it together with the answer may drop it.
        Effect.suspend(() => (reported ? Effect.yieldNow : Effect.void))
      )
    })

/** The call with that id on the wire, else the oldest that runs. */
const callOf = (
  calls: ReadonlySet<UpstreamCall<unknown>>,
  id: JsonRpc.Id | undefined
): UpstreamCall<unknown> | undefined => {
  const [oldest] = calls
  if (id !== undefined) for (const call of calls) if (call.wireId === id) return call
  return oldest
}

/** The services that a client's declaration amounts to. Each passes its questions on. */
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

/** In 2025-11-25 a URL elicitation has an id. A server without sessions gives none, and never announces its completion. */
const withElicitationId = <P extends { readonly elicitationId?: string | undefined }>(params: P): P =>
  params.elicitationId === undefined ? { ...params, elicitationId: globalThis.crypto.randomUUID() } : params

/**
 * Opens the conversation in the downstream client's revision or an older one, since what an era cannot express is lost on the way
 * through it. Where the server speaks none of those, in the newest revision that it speaks.
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

/** Opens a conversation in the scope. */
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
  /** Methods of the notifications that arrived, for those from before the relays run. */
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
    // The services of the first request are left out: the conversation outlives it.
    Effect.updateContext((_request: Context.Context<never>) => Context.add(services, Scope.Scope, scope))
  )
  if (session !== undefined) yield* relayListChanges(client, session, arrived)
  const updates = new ResourceUpdates(client, scope)
  return { client, tools: new ListedTools(client, scope), calls, taskQuestions, updates, logLevel: undefined }
})

/**
 * Notifies a session of changed lists, even if the upstream server has not declared that it announces them. `arrived` has the methods of
 * the notifications that came while the conversation was opened.
 */
const relayListChanges = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  connection: RequestConnection,
  arrived: ReadonlySet<string>
): Effect.fn.Return<void, never, Scope.Scope> {
  const lists = [
    [client.toolChanges, "notifications/tools/list_changed"],
    [client.resourceChanges, "notifications/resources/list_changed"],
    [client.promptChanges, "notifications/prompts/list_changed"]
  ] as const
  for (const [changes, method] of lists) {
    yield* Effect.forkScoped(
      Stream.runForEach(changes, () => notify(connection, method)),
      { startImmediately: true }
    )
    if (arrived.has(method)) yield* Effect.forkScoped(notify(connection, method))
  }
  const ready = yield* Effect.forkScoped(Effect.result(client.changesReady), { startImmediately: true })
  if (Option.isSome(yield* Effect.timeoutOption(Fiber.join(ready), changesTimeout))) return
  // The client may read lists before the upstream server announces their changes: then it has to read them again.
  yield* Effect.forkScoped(
    Effect.flatMap(Fiber.join(ready), (announced) =>
      Result.isFailure(announced)
        ? Effect.void
        : Effect.forEach(lists, ([, method]) => notify(connection, method), { discard: true })
    )
  )
})

/** How long `initialize` waits until the upstream server announces changes of its lists. */
const changesTimeout = "1 second"

/** Whether the client is notified when a URL elicitation is complete. */
const knowsCompletions = ({ capabilities: { elicitation }, revision: { serverNotifications } }: Downstream): boolean =>
  serverNotifications["notifications/elicitation/complete"] !== undefined && elicitation?.url !== undefined
