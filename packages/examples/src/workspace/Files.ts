/** Every file of the workspace as a resource: listed, read, completed, and watched by the one watcher. */
import type { Completer } from "@effect-mcp/core/Completions"
import { suggest } from "@effect-mcp/server/folder/Files"
import * as Media from "@effect-mcp/server/folder/Media"
import * as Names from "@effect-mcp/server/folder/Names"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as ClientRoots from "./ClientRoots.ts"
import { Watcher } from "./Watcher.ts"
import { Workspace, type WorkspaceError } from "./Workspace.ts"

/**
 * The URIs of a workspace's files. `{+path}` is RFC 6570's reserved expansion: it leaves "/" as it is, so one variable spans folders.
 * With the plain `{path}`, "src/index.ts" would be one segment, written "src%2Findex.ts", and no URI of a nested file would match.
 */
export const uriTemplate = (workspace: Workspace["Service"]): string => `${workspace.uri}/{+path}`

/** Suggests paths: those that begin with what is typed, then those that contain it. */
export const completePath: Completer<Workspace | ClientRoots.ClientRoots | RequestContext> = Effect.fnUntraced(
  function* (value) {
    const allowed = yield* Effect.flatMap(ClientRoots.ClientRoots, (roots) => roots.known)
    const files = (yield* (yield* Workspace).files).filter(allowed)
    return suggest(files, value)
  }
)

const list = Effect.gen(function* () {
  const workspace = yield* Workspace
  const allowed = yield* Effect.flatMap(ClientRoots.ClientRoots, (roots) => roots.known)
  return (yield* workspace.files).filter(allowed).map((path) => {
    const mimeType = Media.typeOf(path)
    return { uri: Names.toUri(workspace.uri, path), name: path, ...(mimeType === undefined ? undefined : { mimeType }) }
  })
})

const resourceError =
  (uri: string) =>
  (error: WorkspaceError): Resources.ResourceNotFound | McpError.McpError =>
    error.reason === "TooLarge" ? McpError.limitExceeded(error.message) : new Resources.ResourceNotFound({ uri })

const files = Layer.unwrap(
  Effect.map(Workspace, (workspace) =>
    Resources.layerTemplate(
      {
        uriTemplate: uriTemplate(workspace),
        name: "file",
        title: "A file of the workspace",
        list,
        complete: { path: completePath }
      },
      ({ path }, uri) =>
        Effect.gen(function* () {
          yield* ClientRoots.check(String(path))
          const bytes = yield* (yield* Workspace).read(String(path))
          return [Media.contentsOf(uri, String(path), bytes)]
        }).pipe(Effect.mapError(resourceError(uri))),
      // A folder that comes or goes takes its files along.
      ({ path }) =>
        Stream.unwrap(
          Effect.map(Watcher, ({ changes }) =>
            Stream.filter(changes, (change) => Names.isWithin(change.path, String(path)))
          )
        )
    )
  )
)

/**
 * Before a list or a subscription is answered the watcher runs, so that no change after the answer is missed. To subscribe to one
 * file it must be there, and in the client's roots. `listen` (2026-07-28) names many at once, which may come and go.
 */
const watched = Layer.unwrap(
  Effect.map(Workspace, (workspace) => {
    const template = Result.getOrThrow(UriTemplate.parse(uriTemplate(workspace)))
    const check = Effect.fnUntraced(function* (uri: string, exists: boolean) {
      const path = UriTemplate.match(template, uri)?.["path"]
      if (path === undefined) return
      yield* ClientRoots.check(String(path))
      if (exists) yield* workspace.check(String(path))
    })
    return Middleware.layer((request, next) => {
      const { method, params } = request
      const uris =
        method === "resources/subscribe"
          ? [params.uri]
          : method === "subscriptions/listen"
            ? (params.notifications.resourceSubscriptions ?? [])
            : []
      if (method !== "resources/list" && method !== "resources/subscribe" && method !== "subscriptions/listen")
        return next
      return Effect.forEach(uris, (uri) =>
        Effect.catch(check(uri, method === "resources/subscribe"), () => Resources.notFound(uri))
      ).pipe(Effect.andThen(Effect.flatMap(Watcher, ({ start }) => start)), Effect.andThen(next))
    })
  })
)

/** Tells clients that the list changed, when files come and go. */
const announced = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* Resources.ResourceRegistry
    const workspace = yield* Workspace
    const { changes } = yield* Watcher
    yield* Effect.forkScoped(
      Stream.runForEach(
        Stream.filter(changes, (change) => change.listed),
        () => Effect.andThen(workspace.forget, registry.changed)
      ),
      { startImmediately: true }
    )
  })
)

export const layer = Layer.mergeAll(files, watched, announced)
