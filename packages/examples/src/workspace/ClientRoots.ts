/**
 * The files that a client lets this server touch: the part of the folder inside the client's roots, or all of it if the client does
 * not declare roots.
 *
 * Asks each session once, and again after it announced that its roots changed. Denies everything if the client does not answer.
 */
import * as Names from "@effect-mcp/server/folder/Names"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Roots from "@effect-mcp/core/Roots"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Workspace, WorkspaceError } from "./Workspace.ts"

/** Returns true if the server may touch the path. */
export type Allowed = (path: string) => boolean

export class ClientRoots extends Context.Service<
  ClientRoots,
  {
    /** Asks the client unless its roots are known. For handlers. */
    readonly allowed: Effect.Effect<
      Allowed,
      never,
      RequestContext | Roots.Roots
    >
    /**
     * Returns the roots that `layerAsking` has learned, otherwise none. For
     * lists and completion, which cannot ask.
     */
    readonly known: Effect.Effect<Allowed, never, RequestContext>
  }
>()("@effect-mcp/examples/workspace/ClientRoots") {
  static readonly layer: Layer.Layer<ClientRoots, never, Workspace> =
    Layer.effect(
      ClientRoots,
      Effect.suspend(() => make)
    )
}

/**
 * Fails as if the paths didn't exist, so that a client learns nothing about
 * files outside of its roots.
 */
export const check = (...paths: ReadonlyArray<string>) =>
  Effect.flatMap(ClientRoots, (roots) =>
    Effect.flatMap(roots.allowed, (allowed) => {
      const path = paths.find((path) => !allowed(path))
      return path === undefined
        ? Effect.void
        : Effect.fail(new WorkspaceError({ reason: "Missing", path }))
    })
  )

/** Asks before a list or a completion runs, because these cannot ask. */
export const layerAsking = Middleware.layer((request, next) =>
  request.method === "resources/list" ||
  request.method === "completion/complete"
    ? Effect.flatMap(ClientRoots, (roots) =>
        Effect.andThen(roots.allowed, next)
      )
    : next
)

/** State of one session. */
interface Session {
  /**
   * Number of announced changes. An answer is discarded if the number has
   * changed in the meantime.
   */
  changes: number
  allowed: Allowed | undefined
}

const everything: Allowed = () => true
const nothing: Allowed = () => false

const make = Effect.gen(function* () {
  const { covered } = yield* Workspace
  const scope = yield* Effect.scope
  const sessions = new Map<string, Session>()
  // Keyed by request, so that answers are garbage collected with their
  // requests.
  const learned = new WeakMap<RequestContext["Service"], Allowed>()

  const ask: Effect.Effect<Allowed, never, Roots.Roots> = Roots.list.pipe(
    Effect.flatMap((roots) =>
      Effect.forEach(roots, (root) => covered(root.uri))
    ),
    Effect.map((all): Allowed => {
      const folders = all.filter((folder) => folder !== undefined)
      return (path) => folders.some((folder) => Names.isWithin(folder, path))
    }),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("The client does not tell its roots", error.message),
        nothing
      )
    )
  )

  /** Listens for changes for as long as the session lives. */
  const remember = (
    id: string,
    changes: Stream.Stream<void>
  ): Effect.Effect<Session> => {
    const session: Session = { changes: 0, allowed: undefined }
    sessions.set(id, session)
    const forget = Effect.sync(() => {
      session.changes++
      session.allowed = undefined
    })
    return Stream.runForEach(changes, () => forget).pipe(
      Effect.ensuring(Effect.sync(() => sessions.delete(id))),
      Effect.forkIn(scope, { startImmediately: true }),
      Effect.as(session)
    )
  }

  const allowed = Effect.fnUntraced(function* (
    request: RequestContext["Service"]
  ) {
    const { clientCapabilities, sessionId } = request
    if (clientCapabilities.roots === undefined) return everything
    const { changes } = yield* Roots.Roots
    // Without change notifications, ask every time.
    if (sessionId === undefined || changes === undefined) return yield* ask
    const session =
      sessions.get(sessionId) ?? (yield* remember(sessionId, changes))
    // A separate fiber handles announcements that arrived just before this
    // request. Let it run first.
    yield* Effect.yieldNow
    if (session.allowed !== undefined) return session.allowed
    const { changes: before } = session
    const answer = yield* ask
    if (session.changes === before) session.allowed = answer
    return answer
  })

  return ClientRoots.of({
    allowed: Effect.flatMap(RequestContext, (request) =>
      Effect.tap(allowed(request), (answer) =>
        Effect.sync(() => learned.set(request, answer))
      )
    ),
    known: Effect.map(
      RequestContext,
      (request) => learned.get(request) ?? nothing
    )
  })
})
