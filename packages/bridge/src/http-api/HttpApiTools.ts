/**
 * Serves `HttpApi` endpoints as tools, with the same schemas, errors and middleware.
 *
 * Each call is made with the API's own client through the `HttpClient` in the context, either to a server (`baseUrl`) or to handlers in
 * this process (`layerInProcess`).
 */
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type * as Tools from "@effect-mcp/core/Tools"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import type * as ServedCall from "../tool/ServedCall.ts"
import * as Endpoint from "./Endpoint.ts"

/** Names of an API's endpoints: `group.endpoint`, or just `endpoint` in a top-level group. */
export type EndpointName<Groups extends HttpApiGroup.Constraint> = Groups extends HttpApiGroup.Constraint
  ? HttpApiGroup.Endpoints<Groups> extends infer Endpoint
    ? Endpoint extends HttpApiEndpoint.Constraint
      ? Groups extends { readonly topLevel: true }
        ? HttpApiEndpoint.Identifier<Endpoint>
        : `${HttpApiGroup.Identifier<Groups>}.${HttpApiEndpoint.Identifier<Endpoint>}`
      : never
    : never
  : never

export interface Options<Name extends string> {
  /** The API's base URL. Default: whatever URL the `HttpClient` in the context adds. */
  readonly baseUrl?: string | URL | undefined
  /**
   * Endpoints to serve as tools, by name. The value is `true` or a tool description. Default: all GET endpoints except those annotated with
   * `OpenApi.Exclude`.
   */
  readonly endpoints?: { readonly [name in Name]?: true | ServedCall.Description } | undefined
  /** Options for the tools. */
  readonly tools?: Tools.Options | undefined
}

const nameOf = ({ endpoint, group }: Endpoint.Reflected): string =>
  group.topLevel ? endpoint.identifier : `${group.identifier}.${endpoint.identifier}`

/** Returns the description of an endpoint's tool, or `undefined` if the endpoint is not a tool. */
const chosen = (
  reflected: Endpoint.Reflected,
  endpoints: { readonly [name: string]: true | ServedCall.Description | undefined } | undefined
): ServedCall.Description | undefined => {
  const { endpoint, mergedAnnotations } = reflected
  if (endpoints === undefined) {
    return endpoint.method === "GET" && !Context.get(mergedAnnotations, OpenApi.Exclude) ? {} : undefined
  }
  const name = nameOf(reflected)
  const given = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined
  return given === true ? {} : given
}

/**
 * Serves the API's endpoints as tools for the lifetime of the layer. Path, query, payload and header fields are combined into one arguments
 * object. A success body becomes the result's structured content or text. An error the endpoint declares becomes a result with `isError`,
 * which clients using the same schema receive as a typed failure. For any other error, the client sees only the status and the error itself
 * is logged.
 *
 * Throws while building the layer if an endpoint uses a stream, an upload or an upgrade.
 *
 * @example
 * ```ts
 * import { HttpApiTools } from "@effect-mcp/bridge"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer, Schema } from "effect"
 * import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
 * import { HttpServer } from "effect/http"
 *
 * const Api = HttpApi.make("weather").add(
 *   HttpApiGroup.make("forecasts").add(
 *     HttpApiEndpoint.get("byCity", "/forecasts/:city", {
 *       params: { city: Schema.String },
 *       success: Schema.Struct({ celsius: Schema.Finite })
 *     })
 *   )
 * )
 * const handlers = HttpApiBuilder.group(Api, "forecasts", (group) =>
 *   group.handle("byCity", ({ params }) => Effect.succeed({ celsius: params.city.length }))
 * )
 * const app = HttpApiBuilder.layer(Api).pipe(Layer.provide([handlers, HttpServer.layerServices]))
 * const features = HttpApiTools.layer(Api).pipe(Layer.provide(HttpApiTools.layerInProcess(app)))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(features, "2025-11-25")
 *   const { structuredContent } = yield* client.callToolByName("forecasts_byCity", { city: "Rome" })
 *   yield* Console.log(JSON.stringify(structuredContent)) // => {"celsius":4}
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  options: Options<EndpointName<Groups>> = {}
): Layer.Layer<never, never, ToolRegistry | HttpClient.HttpClient | HttpApiGroup.MiddlewareClient<Groups>> =>
  Layer.unwrap(
    Effect.map(HttpApiClient.make(api, { baseUrl: options.baseUrl }), (client) => {
      const layers: Array<Layer.Layer<never, never, ToolRegistry>> = []
      HttpApi.reflect(api, {
        onGroup: () => {},
        onEndpoint: (reflected) => {
          const description = chosen(reflected, options.endpoints)
          if (description === undefined) return
          layers.push(Endpoint.layer(reflected, description, callOf(client, reflected), options.tools))
        }
      })
      return Layer.mergeAll(Layer.empty, ...layers)
    })
  )

const membersOf = (value: unknown): ReadonlyMap<string, unknown> =>
  new Map(Object.entries(typeof value === "object" && value !== null ? value : {}))

/** Returns the client's function for an endpoint. */
const callOf = (client: unknown, { endpoint, group }: Endpoint.Reflected): Endpoint.EndpointCall => {
  const members = membersOf(client)
  const own = group.topLevel ? members : membersOf(members.get(group.identifier))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `HttpApiClient` has a function for each endpoint
  return own.get(endpoint.identifier) as Endpoint.EndpointCall
}

/**
 * An `HttpClient` that sends requests straight to this layer's routes, within the process. All middleware runs, but no socket is opened.
 */
export const layerInProcess = <A, E>(
  app: Layer.Layer<A, E, HttpRouter.HttpRouter>
): Layer.Layer<HttpClient.HttpClient, never> =>
  Layer.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => HttpRouter.toWebHandler(app, { disableLogger: true })),
        ({ dispose }) => Effect.promise(dispose)
      ),
      ({ handler }) => {
        const fetch: typeof globalThis.fetch = (input, init) => handler(new Request(input, init))
        const inside = Layer.effect(
          HttpClient.HttpClient,
          Effect.map(HttpClient.HttpClient, (client) =>
            client.pipe(
              HttpClient.mapRequest((request) =>
                request.url.startsWith("/") ? HttpClientRequest.prependUrl(request, "http://localhost") : request
              ),
              HttpClient.transform((sent) => Effect.provideService(sent, FetchHttpClient.Fetch, fetch))
            )
          )
        )
        return Layer.provide(inside, FetchHttpClient.layer)
      }
    )
  )
