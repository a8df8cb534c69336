/**
 * Serves the operations in an OpenAPI 3.1 document as tools. Calls go to a base URL, through the `HttpClient` in the context.
 *
 * The document may be untrusted. It is read with limits, and its URLs (`servers`, references, redirects) are never called. Operation names
 * and descriptions are shown to models unchanged.
 */
import { checkedBoolean, isPromiseLike } from "@effect-mcp/core/internal/calling"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Arguments from "../tool/Arguments.ts"
import * as ServedCall from "../tool/ServedCall.ts"
import * as Answer from "./Answer.ts"
import * as Document from "./Document.ts"
import * as OperationRequest from "./OperationRequest.ts"

export { InvalidDocument, type DocumentLimits as Limits, type Operation } from "./Document.ts"

export interface Options {
  /** The API's base URL. Every request goes to a URL under it. */
  readonly baseUrl: string | URL
  /**
   * Chooses which operations become tools. Return a boolean or a tool description. Default: all GET operations that are not deprecated,
   * skipping any that can't be a tool. If you choose such an operation here, building the layer fails.
   */
  readonly operations?: ((operation: Document.Operation) => boolean | ServedCall.Description) | undefined
  /** Headers to add to every request, such as an API key. */
  readonly headers?: { readonly [name: string]: string } | undefined
  /** Maximum response size in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined
  readonly limits?: Document.DocumentLimits | undefined
  /** Options for the tools. */
  readonly tools?: Tools.Options | undefined
}

type ToolLayer = Layer.Layer<never, never, Tools.ToolRegistry>

const defaultBytes = 1024 * 1024

/** Returns an operation's tool description. */
const descriptionOf = ({ description, method, path, summary }: Document.Operation): string =>
  [summary, description].filter((text) => text !== undefined && text !== "").join("\n\n") || `${method} ${path}`

interface Api {
  readonly document: unknown
  readonly base: URL
  readonly options: Options
  readonly http: HttpClient.HttpClient
}

/** Returns an operation's tool. Throws if it cannot be a tool. */
const toolOf = (
  api: Api,
  operation: Document.Operation,
  given: ServedCall.Description
): { readonly layer: ToolLayer; readonly name: string; readonly length: number } => {
  const { base, document, http, options } = api
  const where = `${operation.method} ${operation.path}`
  const request = OperationRequest.make(isJsonObject(document) ? document : {}, operation, base)
  const tool = Tool.raw(given.name ?? Arguments.toolName(operation.id), {
    description: given.description ?? descriptionOf(operation),
    title: given.title ?? operation.summary,
    annotations: { ...ServedCall.annotationsOf(operation.method), openWorldHint: true, ...given.annotations },
    inputSchema: request.arguments.jsonSchema
  })
  const failed = (error: unknown) =>
    error instanceof Tools.ToolFailure
      ? Effect.fail(error)
      : Effect.andThen(
          Effect.logWarning(`${where} failed`, ServedCall.logged(error)),
          Effect.fail(new Tools.ToolFailure({ message: `${where} could not be called` }))
        )
  const layer = Tools.layer(
    tool,
    (input) =>
      Effect.gen(function* () {
        const made = yield* Effect.try({
          try: () => request.make(request.arguments.place(input)),
          catch: (error) => new Tools.ToolFailure({ message: error instanceof Error ? error.message : String(error) })
        })
        const response = yield* http.execute(HttpClientRequest.setHeaders(made, options.headers ?? {}))
        return yield* Answer.resultOf(response, where, options.maxBytes ?? defaultBytes)
      }).pipe(Effect.catch(failed)),
    options.tools
  )
  return { layer, name: tool.name, length: JSON.stringify(request.arguments.jsonSchema).length }
}

const isDescription = (chosen: boolean | ServedCall.Description): chosen is ServedCall.Description =>
  typeof chosen === "object" && chosen !== null && !isPromiseLike(chosen)

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Returns tools for all chosen operations. Throws `InvalidDocument`. */
const toolsOf = (api: Api): { readonly layers: ReadonlyArray<ToolLayer>; readonly left: ReadonlyArray<string> } => {
  const { operations: choose, limits } = api.options
  const most = limits?.operations ?? Document.defaultLimits.operations
  const longest = limits?.schemas ?? Document.defaultLimits.schemas
  let length = 0
  const layers: Array<ToolLayer> = []
  const left: Array<string> = []
  const names = new Set<string>()
  for (const operation of Document.operations(api.document, limits)) {
    const chosen = choose === undefined ? operation.method === "GET" && !operation.deprecated : choose(operation)
    const given = isDescription(chosen) ? chosen : checkedBoolean("operations", chosen) ? {} : undefined
    if (given === undefined) continue
    const made = Result.try({
      try: () => {
        const tool = toolOf(api, operation, given)
        if (names.has(tool.name)) throw new Error(`another operation already has the tool name ${tool.name}`)
        return tool
      },
      catch: messageOf
    })
    const problem = Result.isFailure(made) ? `${operation.id} cannot be a tool: ${made.failure}` : undefined
    if (problem !== undefined && choose !== undefined) throw new Document.InvalidDocument({ message: problem })
    if (problem !== undefined) left.push(problem)
    if (Result.isSuccess(made)) {
      names.add(made.success.name)
      layers.push(made.success.layer)
      length += made.success.length
    }
    if (length > longest) {
      throw new Document.InvalidDocument({
        message: `The tools' input schemas are longer than ${longest} characters in total`
      })
    }
    if (layers.length + left.length > most) {
      throw new Document.InvalidDocument({
        message: `More than ${most} operations are selected. Select fewer with \`operations\`, or raise \`limits.operations\``
      })
    }
  }
  return { layers, left }
}

/** Returns the client without redirects, so that a response cannot lead elsewhere. */
const withoutRedirects = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  HttpClient.transform(client, (sent) =>
    Effect.updateContext(sent, (context: Context.Context<never>) =>
      Context.add(context, FetchHttpClient.RequestInit, {
        ...Context.getOrUndefined(context, FetchHttpClient.RequestInit),
        redirect: "manual"
      })
    )
  )

/**
 * Serves the document's operations as tools for the lifetime of the layer. Path, query and header parameters are combined with the body's
 * properties into one arguments object, validated against the document's schemas. A JSON response becomes text, plus structured content if
 * it is an object. If the status is not 2xx, the result has `isError` and contains the beginning of the response.
 *
 * Fails with `InvalidDocument` if the document is not OpenAPI 3.1, is too large, or refers to other documents, or if a chosen operation
 * can't be called.
 *
 * @example
 * ```ts
 * import { OpenApiTools } from "@effect-mcp/bridge"
 * import { Effect, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const tools = (document: unknown) =>
 *   OpenApiTools.layer(document, {
 *     baseUrl: "https://api.example.com/v1",
 *     headers: { "x-api-key": "secret" },
 *     operations: ({ method, tags }) => method === "GET" && tags.includes("weather")
 *   }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layer = (
  document: unknown,
  options: Options
): Layer.Layer<never, Document.InvalidDocument, Tools.ToolRegistry | HttpClient.HttpClient> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const http = withoutRedirects(yield* HttpClient.HttpClient)
      const { layers, left } = yield* Effect.try({
        try: () => toolsOf({ document, options, http, base: new URL(options.baseUrl) }),
        catch: (error) =>
          error instanceof Document.InvalidDocument
            ? error
            : new Document.InvalidDocument({ message: messageOf(error) })
      })
      yield* Effect.forEach(left, (problem) => Effect.logWarning(problem))
      return Layer.mergeAll(Layer.empty, ...layers)
    })
  )
