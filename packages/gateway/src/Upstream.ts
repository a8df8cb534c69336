/**
 * One conversation with the server behind, on behalf of one client.
 *
 * It declares what that client declared. What the server asks goes to the call it belongs to: the one whose fiber asks or whose
 * exchange it came by, else the oldest that runs, else the client's session; where there is none it is refused at once. Logs go the
 * same way.
 */
import { Requester, type RequesterInfo } from "@effect-mcp/client/Requester"
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import type { Connection } from "@effect-mcp/core/RequestContext"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import type { Transport } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Call, CurrentCall } from "./Call.ts"
import { ToolHeaders } from "./ToolHeaders.ts"

/** The client on whose behalf it is. */
export interface Downstream extends ClientInput.ClientDeclaration {
  readonly clientInfo: Implementation | undefined
  readonly connection: Connection | undefined
}

export interface Options<E> {
  readonly connector: Effect.Effect<Transport, E, Scope.Scope>
  readonly client: McpClient.Options
  /** What the connector and the client run on. */
  readonly context: Context.Context<never>
  /** The revisions of clients that the server behind turned out not to speak. */
  readonly refused: Set<Version>
}

/** A resource whose updates are passed on. */
interface Following {
  fiber: Fiber.Fiber<void> | undefined
}

export interface Upstream {
  readonly client: McpClient.McpClient["Service"]
  readonly headers: ToolHeaders
  /** Those that run, the oldest first. */
  readonly calls: Set<Call<unknown>>
  /** Tells the client's session of updates of a resource, from when this returns on. */
  readonly subscribe: (connection: Connection, uri: string) => Effect.Effect<void, ClientError>
  readonly unsubscribe: (uri: string) => Effect.Effect<void>
}

type Version = Revision.Version

const unrelated = McpError.invalidRequest("There is no request in flight that this question could belong to")

type Ask = <M extends ClientInput.Question>(
  method: M,
  params: Method.ServerRequests[M]["params"]
) => Effect.Effect<Method.ServerRequests[M]["result"], ClientInput.AskError | McpError.McpError>

/** Puts the server's questions to the call that each belongs to, else to the client's session. */
const asking = (calls: ReadonlySet<Call<unknown>>, connection: Connection | undefined): Ask => {
  const route =
    (current: Call<unknown> | undefined, requester: RequesterInfo | undefined, options: ClientInput.AskOptions): Ask =>
    (method, params) => {
      const call = current ?? related(calls, requester?.relatedTo)
      if (call !== undefined) {
        return Effect.catchTag(call.ask(method, params, options), "Moved", () =>
          // Without a known call the related one was a guess: the next is tried.
          current === undefined ? route(current, requester, options)(method, params) : Effect.fail(unrelated)
        )
      }
      const input = connection?.input
      return input === undefined ? Effect.fail(unrelated) : input.ask(method, params, options)
    }
  return (method, params) =>
    Effect.flatMap(Effect.all([CurrentCall, Requester]), ([current, requester]) => {
      let reported = false
      const progress = requester?.progress
      const onProgress: ClientInput.AskOptions["onProgress"] =
        progress &&
        ((event) => {
          reported = true
          progress(event)
        })
      return Effect.ensuring(
        route(current, requester, { key: requester?.key, onProgress })(method, params),
        // Progress leaves in a write of its own: a server that reads it together with the answer may drop it.
        Effect.suspend(() => (reported ? Effect.yieldNow : Effect.void))
      )
    })
}

/** The call of that id, where the wire says which; else the oldest that runs. */
const related = (calls: ReadonlySet<Call<unknown>>, id: JsonRpc.Id | undefined): Call<unknown> | undefined => {
  const [oldest] = calls
  if (id !== undefined) for (const call of calls) if (call.wireId === id) return call
  return oldest
}

/** The services that a client's declaration amounts to; each passes on what it is asked. */
const relays = (ask: Ask, downstream: Downstream): Context.Context<never> => {
  const { capabilities, connection, revision } = downstream
  const map = new Map<string, unknown>()
  const modes = ClientInput.elicitationModes(downstream)
  if (modes.form || modes.url) {
    map.set(Elicitation.key, {
      modes,
      elicit: (params) => ask("elicitation/create", params.mode === "url" ? named(params) : params)
    } satisfies Elicitation["Service"])
  }
  if (capabilities.sampling !== undefined && revision.clientRequests["sampling/createMessage"] !== undefined) {
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

/** In 2025-11-25 a page has an id; a server without sessions gives none, and will never tell of its completion. */
const named = <P extends { readonly elicitationId?: string | undefined }>(params: P): P =>
  params.elicitationId === undefined ? { ...params, elicitationId: globalThis.crypto.randomUUID() } : params

/**
 * Speaks to the server behind as the client speaks to us, if that can be: what one era has no words for would be lost on the way
 * through it. Otherwise in the newest revision that the server speaks.
 */
const alike = <A extends { readonly revision: Revision.Revision }, E, R>(
  { client, refused }: Pick<Options<never>, "client" | "refused">,
  { revision: { era, version } }: Downstream,
  speaking: (revisions: ReadonlyArray<Version>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const allowed = client.revisions ?? Revision.all.map((one) => one.version)
    const older = Revision.stateful.map((one) => one.version).filter((one) => one <= version && allowed.includes(one))
    if (era === "stateless" || older.length === 0 || refused.has(version)) return speaking(allowed)
    return Effect.catch(speaking(older), () =>
      Effect.tap(speaking(allowed), ({ revision }) =>
        Effect.sync(() => {
          if (!older.includes(revision.version)) refused.add(version)
        })
      )
    )
  })

/** How many URIs that were unsubscribed from are remembered at most; a client names them. */
const maxLeft = 1024

/** Opens a conversation in the scope. */
export const open = Effect.fnUntraced(function* <E>(
  options: Options<E>,
  downstream: Downstream
): Effect.fn.Return<Upstream, McpClient.ConnectError | E, Scope.Scope> {
  const { clientInfo, connection } = downstream
  const calls = new Set<Call<unknown>>()
  const scope = yield* Scope.Scope
  const services = Context.merge(options.context, relays(asking(calls, connection), downstream))
  const session = connection?.input === undefined ? undefined : connection
  const told = knowsPages(downstream)
  // In the reader: what was said before an answer gets there before it.
  const onAnnouncement: McpClient.Options["onAnnouncement"] = ({ method, params }, relatedTo) => {
    if (method === "notifications/message") {
      const call = related(calls, relatedTo)
      if (call === undefined) session?.notify(method, { ...params })
      else call.log(params)
    } else if (method === "notifications/elicitation/complete" && told) session?.notify(method, { ...params })
  }
  const speaking = (revisions: ReadonlyArray<Version>) =>
    McpClient.open(options.connector, {
      ...options.client,
      revisions,
      onAnnouncement,
      experimental: downstream.capabilities.experimental ?? options.client.experimental,
      ...(clientInfo === undefined ? undefined : { clientInfo })
    })
  const client = yield* alike(options, downstream, speaking).pipe(
    // Nothing of the request that happened to be the first: it must not be kept, nor asked.
    Effect.updateContext((_request: Context.Context<never>) => Context.add(services, Scope.Scope, scope))
  )
  const updates = new Map<string, Following>()
  /** What was unsubscribed from: a server that goes on to tell of it is not heard by the watchers of other resources. */
  const left = new Set<string>()

  if (session !== undefined) yield* announce(client, session)

  return {
    client,
    headers: new ToolHeaders(client, scope),
    calls,
    subscribe: (connection, uri) =>
      Effect.suspend(() => {
        left.delete(uri)
        if (updates.has(uri)) return Effect.void
        const established = Deferred.makeUnsafe<void, ClientError>()
        const following: Following = { fiber: undefined }
        updates.set(uri, following)
        const run = Stream.runForEach(client.watchResource(uri), (event) =>
          Effect.flatMap(
            event._tag === "Watching" ? Deferred.succeed(established, undefined) : Effect.succeed(false),
            (first) =>
              // Watching again, it may have missed one.
              first || left.has(event.uri)
                ? Effect.void
                : tell(connection, "notifications/resources/updated", { uri: event.uri })
          )
        ).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              // It may have been asked for anew.
              if (updates.get(uri) === following) updates.delete(uri)
              if (Exit.isFailure(exit)) Deferred.doneUnsafe(established, exit)
            })
          ),
          Effect.ignore
        )
        return Effect.flatMap(Effect.forkIn(run, scope), (fiber) => {
          following.fiber = fiber
          return Deferred.await(established)
        })
      }),
    unsubscribe: (uri) =>
      Effect.suspend(() => {
        const fiber = updates.get(uri)?.fiber
        if (updates.delete(uri)) left.add(uri)
        const [oldest] = left
        if (left.size > maxLeft && oldest !== undefined) left.delete(oldest)
        // No watcher is left that could hear an update.
        if (updates.size === 0) left.clear()
        return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
      })
  }
})

const tell = (connection: Connection, method: string, params?: { readonly [key: string]: unknown }) =>
  Effect.andThen(
    connection.ready,
    Effect.sync(() => connection.notify(method, params))
  )

/** Tells a session of lists that have changed, also where the server behind announces them without having declared that it does. */
const announce = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  connection: Connection
): Effect.fn.Return<void, never, Scope.Scope> {
  const each = (changes: Stream.Stream<void>, method: string) =>
    Effect.forkScoped(
      Stream.runForEach(changes, () => tell(connection, method)),
      { startImmediately: true }
    )
  yield* each(client.toolChanges, "notifications/tools/list_changed")
  yield* each(client.resourceChanges, "notifications/resources/list_changed")
  yield* each(client.promptChanges, "notifications/prompts/list_changed")
})

/** Whether the client knows pages by ids, and is told when they are done. */
const knowsPages = ({ capabilities: { elicitation }, revision: { serverNotifications } }: Downstream): boolean =>
  serverNotifications["notifications/elicitation/complete"] !== undefined && elicitation?.url !== undefined
