/** Serves a folder on disk as resources. */
import type * as CacheHint from "@effect-mcp/core/CacheHint"
import { registrationLayer } from "@effect-mcp/core/internal/handlers"
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Stream from "effect/Stream"
import * as Files from "./Files.ts"

/** How to serve a folder. */
export interface Options
  extends
    Files.Options,
    Partial<Pick<Resources.Options, "name" | "title" | "description" | "annotations" | "icons" | "meta">> {
  /** Caching hint for the files, like a resource's own hint. */
  readonly cache?: CacheHint.CacheHint | undefined
  readonly visible?: Resources.Visible | undefined
}

/**
 * Serves every file in a folder as `file:///root/{+path}`, with listing, reading, completion and change notifications. Fails if the folder
 * doesn't exist.
 *
 * Only regular files under the folder are served; any other path fails with `ResourceNotFound`. Symbolic links are not followed. Hidden and
 * ignored names are invisible to clients. Reading a file larger than `maxBytes` fails with -31429.
 *
 * @example
 * ```ts
 * import { Folder, McpServer } from "@effect-mcp/server"
 * import { NodeServices } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * const docs = Folder.layer("docs", { ignored: ["drafts", "node_modules"], maxBytes: 256 * 1024 })
 *
 * export const server = McpServer.layer({ name: "docs", version: "1.0.0", features: docs.pipe(Layer.provide(NodeServices.layer)) })
 * ```
 */
export const layer = (
  root: string,
  options: Options = {}
): Layer.Layer<never, PlatformError, Resources.ResourceRegistry | FileSystem.FileSystem | Path.Path> =>
  Layer.unwrap(
    Effect.map(Files.make(root, options), ({ changes, complete, list, listed, read, uriTemplate }) => {
      const contents = (path: string, uri: string) =>
        Effect.mapError(read(path, uri), (error) =>
          error._tag === "Missing"
            ? new Resources.ResourceNotFound({ uri })
            : McpError.limitExceeded(`${uri} is larger than ${error.maxBytes} bytes`)
        )
      const { title = "Files in this folder", ...rest } = options
      return Layer.merge(
        Resources.layerTemplate(
          { name: "file", ...rest, title, uriTemplate, list, complete: { path: complete } },
          ({ path }, uri) => Effect.map(contents(String(path), uri), (one) => [one]),
          ({ path }) => changes(String(path))
        ),
        announced(listed)
      )
    })
  )

/** Announces a resource list change for every event. */
const announced = (changes: Stream.Stream<unknown>) =>
  registrationLayer<Resources.ResourceRegistry, Resources.ResourceRegistry["Service"], never>(
    Resources.ResourceRegistry,
    (registry) =>
      Effect.asVoid(
        Effect.forkScoped(
          Stream.runForEach(changes, () => registry.changed),
          { startImmediately: true }
        )
      )
  )
