/**
 * Every file in the workspace as a resource. Files can be listed, read,
 * completed and watched, all with one watcher.
 */
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
 * Returns the template for the URIs of a workspace's files. `{+path}` is RFC
 * 6570's reserved expansion, which keeps "/", so that one variable spans
 * folders. With the plain `{path}`, "src/index.ts" would become
 * "src%2Findex.ts", and no URI of a nested file would match.
 */
export const uriTemplate = (workspace: Workspace["Service"]): string =>
  `${workspace.uri}/{+path}`

/**
 * Suggests paths that start with the typed text, followed by paths that contain
 * it.
 */
export const completePath: Completer<
  Workspace | ClientRoots.ClientRoots | RequestContext
> = Effect.fnUntraced(function* (value) {
  const allowed = yield* Effect.flatMap(
    ClientRoots.ClientRoots,
    (roots) => roots.known
  )
  const files = (yield* (yield* Workspace).files).filter(allowed)
  return suggest(files, value)
})

const list = Effect.gen(function* () {
  const workspace = yield* Workspace
  const allowed = yield* Effect.flatMap(
    ClientRoots.ClientRoots,
    (roots) => roots.known
  )
  return (yield* workspace.files).filter(allowed).map((path) => {
    const mimeType = Media.typeOf(path)
    return {
      uri: Names.toUri(workspace.uri, path),
      name: path,
      ...(mimeType === undefined ? undefined : { mimeType })
    }
  })
})

const resourceError =
  (uri: string) =>
  (error: WorkspaceError): Resources.ResourceNotFound | McpError.McpError =>
    error.reason === "TooLarge"
      ? McpError.limitExceeded(error.message)
      : new Resources.ResourceNotFound({ uri })

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
      // A change to a folder affects all files in it.
      ({ path }) =>
        Stream.unwrap(
          Effect.map(Watcher, ({ changes }) =>
            Stream.filter(changes, (change) =>
              Names.isWithin(change.path, String(path))
            )
          )
        )
    )
  )
)

/**
 * Starts the watcher before answering a list or a subscription, so that no
 * later change is missed. A client can only subscribe to an existing file
 * within its roots, but `subscriptions/listen` (2026-07-28) may name files that
 * don't exist yet.
 */
const watched = Layer.unwrap(
  Effect.map(Workspace, (workspace) => {
    const template = Result.getOrThrow(
      UriTemplate.parse(uriTemplate(workspace))
    )
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
      if (
        method !== "resources/list" &&
        method !== "resources/subscribe" &&
        method !== "subscriptions/listen"
      )
        return next
      return Effect.forEach(uris, (uri) =>
        Effect.catch(check(uri, method === "resources/subscribe"), () =>
          Resources.notFound(uri)
        )
      ).pipe(
        Effect.andThen(Effect.flatMap(Watcher, ({ start }) => start)),
        Effect.andThen(next)
      )
    })
  })
)

/** Notifies clients of a changed list when files are added or removed. */
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
