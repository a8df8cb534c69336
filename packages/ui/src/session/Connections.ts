/** A session's connections, one at a time. A new connection ends the previous one. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import { listKinds, type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { Root } from "@effect-mcp/protocol/model/Root"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import type * as SubscriptionRef from "effect/SubscriptionRef"
import type { Lists, LogEntry } from "../messages/Events.ts"
import { type Board, noLists } from "./Board.ts"
import * as Listening from "./Listening.ts"
import type { Hooks, Options } from "./Options.ts"
import type { OpenQuestions } from "./Questions.ts"
import type { Connected } from "./Runs.ts"
import * as Watching from "./Watching.ts"

/** The current connection. */
export interface CurrentConnection extends Connected {
  readonly watching: Effect.Success<ReturnType<typeof Watching.make>>
  readonly scope: Scope.Scope
}

const isMissing = (error: ClientError): boolean =>
  error._tag === "CapabilityMissing" || (error._tag === "McpError" && error.code === McpError.MethodNotFound)

/** Reads everything that the server lists. */
const listAll = Effect.fnUntraced(function* (client: McpClient.Client): Effect.fn.Return<Lists> {
  const errors: { [list: string]: string } = {}
  const all = (list: ListName) =>
    Stream.runCollect(McpClient.listOf(client, list)).pipe(
      Effect.catch((error) => {
        if (!isMissing(error)) errors[list] = error.message
        return Effect.succeed([])
      }),
      Effect.map((items) => [list, items] as const)
    )
  const listed = yield* Effect.forEach(Struct.keys(lists), all, { concurrency: "unbounded" })
  return { ...Object.fromEntries(listed), errors }
})

/** Lists everything again. */
export const refresh = (board: Board, client: McpClient.Client): Effect.Effect<void> =>
  Effect.map(listAll(client), (lists) => board.lists(lists))

/** Parts of a session that its connections use. */
export interface SessionParts {
  readonly board: Board
  readonly questions: OpenQuestions
  readonly roots: SubscriptionRef.SubscriptionRef<ReadonlyArray<Root>>
  readonly now: () => number
}

type Log = (entry: Omit<LogEntry, "at" | "id">) => Effect.Effect<void>

const hooksOf = (log: Log): Hooks => ({
  words: (lines) =>
    Effect.asVoid(
      // Ends with the server's stderr, because its last lines arrive after the connection has ended.
      Effect.forkDetach(
        Stream.runForEach(lines, (text) => log({ source: "stderr", level: "info", text })),
        { startImmediately: true }
      )
    ),
  tell: (text) => log({ source: "note", level: "notice", text })
})

/** Follows the logs and changes that the server announces. */
const follow = Effect.fnUntraced(function* (client: McpClient.Client, board: Board, log: Log) {
  yield* Effect.forkScoped(
    Stream.runForEach(client.logs, ({ data, level, logger }) =>
      log({ source: "log", level, logger, text: typeof data === "string" ? data : JSON.stringify(data) })
    ),
    { startImmediately: true }
  )
  const streams = listKinds.map((kind) => McpClient.changesOf(client, kind))
  // One reading at a time, because an older one must not replace a newer one. All changes in the meantime share the next.
  const changes = Stream.buffer(Stream.mergeAll(streams, { concurrency: "unbounded" }), {
    capacity: 1,
    strategy: "sliding"
  })
  yield* Effect.forkScoped(
    Stream.runForEach(changes, () => refresh(board, client)),
    { startImmediately: true }
  )
})

/** Opens a connection and keeps it until it ends. */
const conversation = Effect.fnUntraced(function* <R>(
  options: Options<R>,
  { board, now, questions, roots }: SessionParts,
  wanted: string | null,
  opened: (connection: CurrentConnection) => void
) {
  const log: Log = (entry) => Effect.sync(() => board.log({ ...entry, at: now() }))
  const begun = now()
  const listening = yield* Listening.make(board, { name: options.name, now, url: options.url })
  yield* Effect.addFinalizer(() => Effect.sync(listening.end))
  const version = Revision.all.find((each) => each.version === wanted)?.version
  const client = yield* McpClient.open(Effect.map(options.connect(hooksOf(log)), listening.tap), {
    clientInfo: { name: "effect-mcp-ui", title: "effect-mcp ui", version: "0.1.0" },
    revisions: version === undefined ? undefined : [version],
    // The user must see what happened to this connection.
    reconnect: false,
    // A result is shown before it is judged.
    validateOutput: false,
    cacheSize: 0,
    // A login takes minutes.
    timeout: "5 minutes",
    dropped: (text) => board.log({ at: now(), source: "note", level: "warning", text: `Ignored: ${text}` })
  }).pipe(
    Effect.provide(Layer.merge(questions.layer(listening.recorder, roots), options.extensions ?? Layer.empty)),
    Effect.provideService(FetchHttpClient.Fetch, listening.fetch)
  )
  opened({
    client,
    recorder: listening.recorder,
    fetch: listening.fetch,
    watching: yield* Watching.make(client, board, now),
    scope: yield* Effect.scope
  })
  const { instructions, revision, serverCapabilities, serverInfo } = client
  board.connection({
    status: "connected",
    wanted,
    revision: revision.version,
    server: serverInfo,
    capabilities: serverCapabilities,
    instructions,
    took: now() - begun
  })
  yield* follow(client, board, log)
  yield* Effect.provideService(refresh(board, client), FetchHttpClient.Fetch, listening.fetch)
  yield* client.awaitClosed
}, Effect.scoped)

/** Creates a session's connections. No connection is open yet. */
export const make = Effect.fnUntraced(function* <R>(options: Options<R>, parts: SessionParts) {
  const { board } = parts
  const connecting = yield* FiberHandle.make<void>()
  const context = yield* Effect.context<R>()
  let current: CurrentConnection | undefined
  const closed = (wanted: string | null, error?: string): void => {
    current = undefined
    board.watched([])
    board.connection({ ...board.state.connection, status: "closed", wanted, error })
  }
  const connect = (wanted: string | null): Effect.Effect<void> => {
    const talked = conversation(options, parts, wanted, (opened) => void (current = opened))
    const ended = Effect.matchCause(Effect.provideContext(talked, context), {
      onSuccess: () => closed(wanted, "The server closed the connection"),
      onFailure: (cause) => {
        // Interrupted by the next connection, which has its own state.
        if (Cause.hasInterruptsOnly(cause)) return
        const error = Cause.squash(cause)
        closed(wanted, error instanceof Error ? error.message : String(error))
      }
    })
    const reconnect = Effect.gen(function* () {
      yield* FiberHandle.clear(connecting)
      current = undefined
      board.watched([])
      board.lists(noLists)
      board.connection({ status: "connecting", wanted })
      yield* FiberHandle.run(connecting, ended)
    })
    // A page that leaves meanwhile must not leave the session without a connection.
    return Effect.uninterruptible(reconnect)
  }
  const disconnect = Effect.uninterruptible(
    Effect.map(FiberHandle.clear(connecting), () => closed(board.state.connection.wanted))
  )
  return { connect, disconnect, current: () => current }
})
