/**
 * Serves `RpcGroup` procedures as tools, with the same schemas, errors and middleware.
 *
 * You choose each tool by name, because a procedure doesn't declare whether it has side effects.
 */
import * as Tool from "@effect-mcp/core/Tool"
import type * as Tools from "@effect-mcp/core/Tools"
import { withoutServices } from "@effect-mcp/core/internal/codecs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RpcClient from "effect/rpc/RpcClient"
import type * as Rpc from "effect/rpc/Rpc"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcSchema from "effect/rpc/RpcSchema"
import * as RpcTest from "effect/rpc/RpcTest"
import * as Arguments from "../tool/Arguments.ts"
import * as ServedCall from "../tool/ServedCall.ts"

export interface Options<Tag extends string> {
  /** Procedures to serve as tools, by tag. The value is `true` or a tool description. */
  readonly procedures: { readonly [tag in Tag]?: true | ServedCall.Description }
  /** Options for the tools. */
  readonly tools?: Tools.Options | undefined
}

type Call = (tag: string, payload: unknown) => Effect.Effect<unknown, unknown>

/** Returns the codec for the tool's arguments: the payload's properties, or a single argument named `payload`. */
const inputOf = ({ payloadSchema }: Rpc.AnyWithProps): Tool.DescribedCodec<unknown> => {
  const { _tag } = payloadSchema.ast
  if (_tag === "Void" || _tag === "Undefined") {
    const jsonSchema = { type: "object", additionalProperties: false }
    return { jsonSchema, decode: () => Effect.undefined, encode: () => Effect.succeed({}) }
  }
  const codec = Tool.codec(withoutServices(payloadSchema))
  const args = Arguments.make([{ place: "payload", jsonSchema: codec.jsonSchema, required: true }])
  return {
    jsonSchema: args.jsonSchema,
    decode: (wire) => Effect.flatMap(Arguments.placed(args, wire), ({ payload }) => codec.decode(payload)),
    encode: (value) => Effect.map(codec.encode(value), (payload) => args.gather({ payload }))
  }
}

/** Returns a procedure's tool. Throws if it cannot be a tool. */
const toolOf = (
  rpc: Rpc.AnyWithProps,
  given: ServedCall.Description,
  call: Call,
  offered: Tools.Options | undefined
): Layer.Layer<never, never, Tools.ToolRegistry> => {
  const { _tag: tag, errorSchema, middlewares, successSchema } = rpc
  if (RpcSchema.isStreamSchema(successSchema)) {
    throw new Error(
      `The procedure ${tag} cannot be a tool because it responds with a stream. Leave it out of \`procedures\``
    )
  }
  const { _tag } = successSchema.ast
  return ServedCall.layer<unknown>(
    {
      name: given.name ?? Arguments.toolName(tag),
      description: given.description ?? tag,
      title: given.title,
      annotations: given.annotations,
      input: inputOf(rpc),
      successes: _tag === "Void" || _tag === "Undefined" ? [] : [successSchema],
      errors: [errorSchema, ...Array.from(middlewares, ({ error }) => error)].filter(({ ast }) => ast._tag !== "Never"),
      undeclared: () => `The procedure ${tag} failed`,
      call: (payload) => call(tag, payload)
    },
    offered
  )
}

const toolsOf = (
  requests: ReadonlyMap<string, Rpc.Any>,
  call: Call,
  { procedures, tools }: Options<string>
): Layer.Layer<never, never, Tools.ToolRegistry> => {
  const layers = Object.entries(procedures).flatMap(([tag, given]) => {
    if (given === undefined) return []
    const rpc = requests.get(tag)
    if (rpc === undefined)
      throw new Error(`The group has no procedure ${tag}. Available procedures: ${[...requests.keys()].join(", ")}`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every procedure of `Rpc.make` has these
    return [toolOf(rpc as Rpc.AnyWithProps, given === true ? {} : given, call, tools)]
  })
  return Layer.mergeAll(Layer.empty, ...layers)
}

/** Returns the tools for a flat client, which is called with a procedure's tag and payload. */
const toolsOver = <E, R>(
  client: Effect.Effect<unknown, E, R>,
  requests: ReadonlyMap<string, Rpc.Any>,
  options: Options<string>
) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a flat client is such a function, for the tags of its group
  Layer.unwrap(Effect.map(client, (call) => toolsOf(requests, call as Call, options)))

/**
 * Serves procedures as tools for the lifetime of the layer, using their handlers in this process. The payload's properties become the
 * tool's arguments; a payload that is not an object becomes a single argument named `payload`. Clients using the same schema receive errors
 * declared by a procedure or its middleware as typed failures.
 *
 * Throws while building the layer if a procedure streams its result.
 *
 * @example
 * ```ts
 * import { RpcTools } from "@effect-mcp/bridge"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer, Schema } from "effect"
 * import { Rpc, RpcGroup } from "effect/rpc"
 *
 * const Weather = RpcGroup.make(
 *   Rpc.make("Forecast", { payload: { city: Schema.String }, success: Schema.Struct({ celsius: Schema.Finite }) })
 * )
 * const handlers = Weather.toLayer({ Forecast: ({ city }) => Effect.succeed({ celsius: city.length }) })
 * const features = RpcTools.layer(Weather, {
 *   procedures: { Forecast: { description: "The weather of tomorrow", annotations: { readOnlyHint: true } } }
 * }).pipe(Layer.provide(handlers))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(features, "2025-11-25")
 *   const { structuredContent } = yield* client.callToolByName("Forecast", { city: "Rome" })
 *   yield* Console.log(JSON.stringify(structuredContent)) // => {"celsius":4}
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: Options<Rpcs["_tag"]>
): Layer.Layer<
  never,
  never,
  Tools.ToolRegistry | Rpc.ToHandler<Rpcs> | Rpc.Middleware<Rpcs> | Rpc.MiddlewareClient<Rpcs>
> => toolsOver(RpcTest.makeClient(group, { flatten: true }), group.requests, options)

/** Like `layer`, but calls procedures on a server through the `RpcClient.Protocol` in the context. */
export const layerClient = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: Options<Rpcs["_tag"]>
): Layer.Layer<never, never, Tools.ToolRegistry | RpcClient.Protocol | Rpc.MiddlewareClient<Rpcs>> =>
  toolsOver(RpcClient.make(group, { flatten: true }), group.requests, options)
