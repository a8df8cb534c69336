/** A view's page, as a host reads it from a server. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { localOrigins, malformed, withoutLocal } from "../contract/Origins.ts"
import { mimeType, type ResourceUi, resourceUi, viewUri } from "../contract/UiExtension.ts"
import { called, type Options } from "./Handlers.ts"

/** The tool has no view, or the server's resource is not a view that a host can show. */
export class ViewUnavailable extends Data.TaggedError("ViewUnavailable")<{ readonly message: string }> {}

/** A view's page, and the metadata that comes with it. */
export interface ViewResource extends ResourceUi {
  readonly uri: string
  readonly html: string
}

type Client = McpClient.McpClient["Service"]

const unavailable = (message: string) => Effect.fail(new ViewUnavailable({ message }))

const isView = ({ mimeType: given = "" }: ResourceContents): boolean =>
  given.toLowerCase().replaceAll(/\s/g, "") === mimeType

const htmlOf = (uri: string, contents: ResourceContents): Effect.Effect<string, ViewUnavailable> => {
  if ("text" in contents) return Effect.succeed(contents.text)
  const bytes = Base64.decode(contents.blob)
  return Result.isSuccess(bytes)
    ? Effect.succeed(new TextDecoder().decode(bytes.success))
    : unavailable(`The view ${uri} is not valid base64`)
}

/** Returns the metadata from the resource list, for servers that omit it from the contents. */
const listedUi = (client: Client, uri: string): Effect.Effect<ResourceUi, ClientError> =>
  Effect.map(
    Stream.runHead(Stream.filter(client.listResources, (resource) => resource.uri === uri)),
    (found) => (found._tag === "Some" ? resourceUi(found.value) : undefined) ?? {}
  )

/** Returns the metadata without local origins, unless the host allows them. */
const confined = Effect.fnUntraced(function* (
  uri: string,
  ui: ResourceUi,
  allowLocal: Options["allowLocal"]
): Effect.fn.Return<ResourceUi> {
  const { csp = {} } = ui
  const local = localOrigins(csp)
  if (local.length === 0) return ui
  const allowed: unknown =
    allowLocal !== undefined &&
    (yield* Effect.catchCause(
      called(() => allowLocal(local, uri)),
      (cause) =>
        Effect.as(Effect.logError("Asking about a view's local origins failed, so they are not allowed", cause), false)
    ))
  if (allowed === true) return ui
  yield* Effect.logWarning(`The view ${uri} may not reach origins on this machine or in a private network`, local)
  return { ...ui, csp: withoutLocal(csp) }
})

/**
 * Reads a tool's view, or the view at a URI. Metadata in the contents takes precedence over metadata in the list. Policy entries that
 * are not origins are removed, with a warning in the log, and so are local origins that the host does not allow.
 */
export const read = Effect.fnUntraced(function* (
  client: Client,
  view: Tool | string,
  { allowLocal, maxLength }: Pick<Options, "allowLocal"> & { readonly maxLength: number }
): Effect.fn.Return<ViewResource, ViewUnavailable | ClientError> {
  const uri = typeof view === "string" ? view : viewUri(view)
  if (uri === undefined)
    return yield* unavailable(`The tool ${typeof view === "string" ? view : view.name} has no view`)
  if (!uri.startsWith("ui://")) return yield* unavailable(`The URI of a view must start with ui://: ${uri}`)
  const { contents } = yield* client.readResource(uri)
  const found = contents.find((part) => part.uri === uri && isView(part))
  if (found === undefined) return yield* unavailable(`The server has no resource of type ${mimeType} at ${uri}`)
  const html = yield* htmlOf(uri, found)
  if (html.length > maxLength) {
    return yield* unavailable(`The view ${uri} is too large: ${html.length} characters, limit ${maxLength}`)
  }
  const ui = resourceUi(found) ?? (yield* listedUi(client, uri))
  const wrong = malformed(ui.csp ?? {})
  if (wrong.length > 0)
    yield* Effect.logWarning(`Ignored entries in the content security policy of ${uri} that are not origins`, wrong)
  return { ...(yield* confined(uri, ui, allowLocal)), uri, html }
})
