/**
 * What a client lets this server touch: the part of the folder that lies in the client's roots, or all of it when the client does
 * not declare roots.
 *
 * Asks each session once, and again after it said that its roots changed. Refuses everything when the client does not answer.
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

/** Whether a path may be touched. */
export type Allowed = (path: string) => boolean

export class ClientRoots extends Context.Service<
  ClientRoots,
  {
    /** For handlers: asks the client unless its roots are known. */
    readonly allowed: Effect.Effect<Allowed, never, RequestContext | Roots.Roots>
    /** For lists and completion, which cannot ask: what `layerAsking` learned before them, otherwise nothing. */
    readonly known: Effect.Effect<Allowed, never, RequestContext>
  }
>()("@effect-mcp/examples/workspace/ClientRoots") {
  static readonly layer: Layer.Layer<ClientRoots, never, Workspace> = Layer.effect(
    ClientRoots,
    Effect.suspend(() => make)
  )
}

/** Fails like paths that are not there: a client is not told what lies outside of its roots. */
export const check = (...paths: ReadonlyArray<string>) =>
  Effect.flatMap(ClientRoots, (roots) =>
    Effect.flatMap(roots.allowed, (allowed) => {
      const path = paths.find((path) => !allowed(path))
      return path === undefined ? Effect.void : Effect.fail(new WorkspaceError({ reason: "Missing", path }))
    })
  )

/** Asks before a list or a completion runs, as these cannot ask themselves. */
export const layerAsking = Middleware.layer((request, next) =>
  request.method === "resources/list" || request.method === "completion/complete"
    ? Effect.flatMap(ClientRoots, (roots) => Effect.andThen(roots.allowed, next))
    : next
)

/** What is known of one session. */
interface Session {
  /** Grows with every change the client announces: an answer to an older question is not kept. */
  changes: number
  allowed: Allowed | undefined
}

const everything: Allowed = () => true
const nothing: Allowed = () => false

const make = Effect.gen(function* () {
  const { covered } = yield* Workspace
  const scope = yield* Effect.scope
  const sessions = new Map<string, Session>()
  const learned = new WeakMap<RequestContext["Service"], Allowed>()

  const ask: Effect.Effect<Allowed, never, Roots.Roots> = Roots.list.pipe(
    Effect.flatMap((roots) => Effect.forEach(roots, (root) => covered(root.uri))),
    Effect.map((all): Allowed => {
      const folders = all.filter((folder) => folder !== undefined)
      return (path) => folders.some((folder) => Names.isWithin(folder, path))
    }),
    Effect.catch((error) => Effect.as(Effect.logWarning("The client does not tell its roots", error.message), nothing))
  )

  /** Listens for changes for as long as the session lives. */
  const remember = (id: string, changes: Stream.Stream<void>): Effect.Effect<Session> => {
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

  const allowed = Effect.fnUntraced(function* (request: RequestContext["Service"]) {
    const { clientCapabilities, sessionId } = request
    if (clientCapabilities.roots === undefined) return everything
    const { changes } = yield* Roots.Roots
    // Roots that may change without a word are asked for each time.
    if (sessionId === undefined || changes === undefined) return yield* ask
    const session = sessions.get(sessionId) ?? (yield* remember(sessionId, changes))
    // What the client announced just before this request is heard in a fiber of its own, which goes first.
    yield* Effect.yieldNow
    if (session.allowed !== undefined) return session.allowed
    const { changes: before } = session
    const answer = yield* ask
    if (session.changes === before) session.allowed = answer
    return answer
  })

  return ClientRoots.of({
    allowed: Effect.flatMap(RequestContext, (request) =>
      Effect.tap(allowed(request), (answer) => Effect.sync(() => learned.set(request, answer)))
    ),
    known: Effect.map(RequestContext, (request) => learned.get(request) ?? nothing)
  })
})
