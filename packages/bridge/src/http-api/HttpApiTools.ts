/**
 * The endpoints of an `HttpApi` as tools: the same schemas, errors and middleware.
 *
 * A call is a request of the API's own client, over the `HttpClient` of the context: to a server (`baseUrl`), or to the handlers in this
 * process (`layerInProcess`).
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

/** The names of the endpoints of an API: `group.endpoint`, or `endpoint` in a group at the top. */
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
  /** Where the API is. Default: the URL that the `HttpClient` of the context adds. */
  readonly baseUrl?: string | URL | undefined
  /**
   * The endpoints that are tools, by name: `true`, or how the tool is described. Default: all with the method GET, unless they are
   * annotated with `OpenApi.Exclude`.
   */
  readonly endpoints?: { readonly [name in Name]?: true | ServedCall.Description } | undefined
  /** How the tools are offered. */
  readonly tools?: Tools.Options | undefined
}

const nameOf = ({ endpoint, group }: Endpoint.Reflected): string =>
  group.topLevel ? endpoint.identifier : `${group.identifier}.${endpoint.identifier}`

/** How the endpoint is described as a tool; undefined where it is none. */
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
 * Serves endpoints of the API as tools, for as long as the layer lives. Path, query, payload and headers are the arguments of one object. The
 * body of a success is the structured content, or the text, of the result. An error that the endpoint declares is a result with `isError`,
 * typed for clients with the same schema; of any other error the client reads the status only, and the log has it.
 *
 * Throws for an endpoint with a stream, an upload or an upgrade, when the layer is built.
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

/** The member of the client for an endpoint. */
const callOf = (client: unknown, { endpoint, group }: Endpoint.Reflected): Endpoint.EndpointCall => {
  const members = membersOf(client)
  const own = group.topLevel ? members : membersOf(members.get(group.identifier))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `HttpApiClient` has a function for each endpoint
  return own.get(endpoint.identifier) as Endpoint.EndpointCall
}

/**
 * An `HttpClient` whose requests go to the routes of this layer, in this process: no socket is opened, and all middleware runs.
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
