/** Turns an `HttpApi` endpoint into a tool, with the endpoint's schemas and a call through the API's client. */
import * as Tool from "@effect-mcp/core/Tool"
import type * as Tools from "@effect-mcp/core/Tools"
import { withoutServices } from "@effect-mcp/core/internal/codecs"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Arguments from "../tool/Arguments.ts"
import * as ServedCall from "../tool/ServedCall.ts"

/** An endpoint as reported by `HttpApi.reflect`. */
export interface Reflected {
  readonly group: { readonly identifier: string; readonly topLevel: boolean }
  readonly endpoint: HttpApiEndpoint.Top
  readonly mergedAnnotations: Context.Context<never>
  readonly errors: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
  /** Success schemas, without streamed bodies. */
  readonly successes: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
}

/** Returns the error for an endpoint that cannot be a tool. */
const unsupported = ({ endpoint, group }: Reflected, reason: string): Error =>
  new Error(`${group.identifier}.${endpoint.identifier} cannot be a tool: ${reason}. Leave it out of \`endpoints\``)

/** Returns the codec for a part's values, in the types the handler uses. A number in a path, for example, is decoded to a number. */
const valuesOf = (schema: Schema.Top | undefined): Tool.DescribedCodec<unknown> | undefined =>
  schema === undefined ? undefined : Tool.codec(Schema.toType(withoutServices(schema)))

interface Section {
  readonly place: string
  readonly codec: Tool.DescribedCodec<unknown>
  readonly required: boolean
}

const payloadOf = (reflected: Reflected): Tool.DescribedCodec<unknown> | undefined => {
  const bodies = [...reflected.endpoint.payload.values()]
  const wrong = bodies.find(({ encoding }) => encoding._tag === "Multipart" || encoding._tag === "Stream")
  if (wrong !== undefined)
    throw unsupported(reflected, `its payload is encoded as ${wrong.encoding._tag.toLowerCase()}`)
  const schemas = bodies.flatMap(({ schemas }): ReadonlyArray<Schema.Top> => schemas)
  const payload = ServedCall.oneOf(schemas)
  return payload && Tool.codec(payload)
}

/** Returns the codec for the tool's arguments, which become the parts of a request. */
const inputOf = (reflected: Reflected): Tool.DescribedCodec<Arguments.Placed> => {
  const { endpoint } = reflected
  const sections = [
    { place: "params", codec: valuesOf(endpoint.params) },
    { place: "query", codec: valuesOf(endpoint.query) },
    { place: "payload", codec: payloadOf(reflected) },
    { place: "headers", codec: valuesOf(endpoint.headers) }
  ].flatMap(({ codec, place }): ReadonlyArray<Section> =>
    codec === undefined ? [] : [{ place, codec, required: true }]
  )
  const args = Arguments.make(sections.map(({ codec: { jsonSchema }, ...part }) => ({ ...part, jsonSchema })))
  const each = (
    values: Arguments.Placed,
    use: (section: Section, value: unknown) => Effect.Effect<unknown, Tool.InvalidValue>
  ) =>
    Effect.map(
      Effect.forEach(sections, (section) =>
        Effect.map(use(section, values[section.place]), (value) => [section.place, value] as const)
      ),
      (entries): Arguments.Placed => Object.fromEntries(entries)
    )
  return {
    jsonSchema: args.jsonSchema,
    decode: (wire) =>
      Effect.flatMap(Arguments.placed(args, wire), (placed) => each(placed, ({ codec }, value) => codec.decode(value))),
    encode: (placed) =>
      Effect.map(
        each(placed, ({ codec }, value) => codec.encode(value)),
        args.gather
      )
  }
}

/** Returns the schemas for success bodies. */
const successesOf = (reflected: Reflected): ReadonlyArray<Schema.Top> => {
  const successes = [...reflected.successes.values()].flat()
  if (successes.length < reflected.endpoint.success.size) {
    throw unsupported(reflected, "it responds with a stream, or upgrades the connection")
  }
  const bodies = successes.map((schema): Schema.Top => (HttpApiSchema.isWithHeaders(schema) ? schema.schema : schema))
  return bodies.filter(({ ast }) => !HttpApiSchema.isNoContent(ast))
}

/** True if a success schema declares headers. In that case, its value holds the body next to the headers. */
const hasHeaders = ({ successes }: Reflected): boolean =>
  [...successes.values()].flat().some((schema) => HttpApiSchema.isWithHeaders(schema))

const statusOf = (error: unknown): string => {
  const response = HttpClientError.isHttpClientError(error) ? error.response : undefined
  return response === undefined ? "could not be called" : `responded with status ${response.status}`
}

/** Returns the tool's default name. */
export const nameOf = ({ endpoint, group }: Reflected): string =>
  Arguments.toolName(group.topLevel ? endpoint.identifier : `${group.identifier}_${endpoint.identifier}`)

/** Calls an endpoint through the API's client. */
export type EndpointCall = (request: Arguments.Placed) => Effect.Effect<unknown, unknown>

/** Serves the endpoint as a tool. Throws if it cannot be a tool. */
export const layer = (
  reflected: Reflected,
  given: ServedCall.Description,
  call: EndpointCall,
  offered: Tools.Options | undefined
): Layer.Layer<never, never, Tools.ToolRegistry> => {
  const { endpoint, errors, mergedAnnotations } = reflected
  const where = `${endpoint.method} ${endpoint.path}`
  const bodyOf = (value: unknown): unknown =>
    hasHeaders(reflected) && isJsonObject(value) && "body" in value ? value["body"] : value
  return ServedCall.layer<Arguments.Placed>(
    {
      name: given.name ?? nameOf(reflected),
      description:
        given.description ??
        Context.getOrUndefined(mergedAnnotations, OpenApi.Description) ??
        Context.getOrUndefined(mergedAnnotations, OpenApi.Summary) ??
        where,
      title: given.title ?? Context.getOrUndefined(endpoint.annotations, OpenApi.Title),
      annotations: { ...ServedCall.annotationsOf(endpoint.method), ...given.annotations },
      input: inputOf(reflected),
      successes: successesOf(reflected),
      errors: [...errors.values()].flat(),
      undeclared: (error) => `${where} ${statusOf(error)}`,
      call: (request) => Effect.map(call(request), bodyOf)
    },
    offered
  )
}
