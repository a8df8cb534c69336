/**
 * Serves an `effect/ai` toolkit as MCP tools. Schemas, failures, annotations and the handlers' services all stay typed.
 *
 * Each call is validated here and then handled by the toolkit. Preliminary results are sent as progress.
 */
import { checkedBoolean, checkedEffect } from "@effect-mcp/core/internal/calling"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Progress from "@effect-mcp/core/Progress"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { withoutServices } from "@effect-mcp/core/internal/codecs"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as AiError from "effect/ai/AiError"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** Type error for a toolkit whose schemas need services to decode or encode values. */
export interface SchemasNeedServices<R> {
  readonly "The schemas of a server's tools must not require services": R
}

type Servable<Kit extends Record<string, AiTool.Any>> = [AiTool.SchemaServices<Kit[keyof Kit]>] extends [never]
  ? unknown
  : SchemasNeedServices<AiTool.SchemaServices<Kit[keyof Kit]>>

/** A toolkit's `handle` function, for tools that are only known by name. */
type Handle = (
  name: string,
  params: unknown
) => Effect.Effect<
  Stream.Stream<AiTool.HandlerResult<AiTool.Any>, unknown, RequestServices>,
  AiError.AiError,
  RequestServices
>

const annotationsOf = ({ annotations }: AiTool.Any): ToolAnnotations => ({
  readOnlyHint: Context.get(annotations, AiTool.Readonly),
  destructiveHint: Context.get(annotations, AiTool.Destructive),
  idempotentHint: Context.get(annotations, AiTool.Idempotent),
  openWorldHint: Context.get(annotations, AiTool.OpenWorld)
})

const describe = (tool: AiTool.Any): Tool.Options => {
  const meta = Context.getOrUndefined(tool.annotations, AiTool.Meta)
  return {
    description: AiTool.getDescription(tool) ?? tool.name,
    title: Context.getOrUndefined(tool.annotations, AiTool.Title),
    annotations: annotationsOf(tool),
    ...(meta === undefined ? undefined : { meta })
  }
}

/** Returns the kind of a call's result, according to the JSON Schema of its success: nothing, text, or structured content. */
const kindOf = (success: Schema.Codec<unknown, unknown>): "nothing" | "text" | "structured" => {
  if (success.ast._tag === "Void" || success.ast._tag === "Undefined") return "nothing"
  return AiTool.getJsonSchemaFromSchema(success)["type"] === "string" ? "text" : "structured"
}

const text = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** Maximum length of a preliminary result in a progress message, in characters. */
const maxMessage = 1000

/** Returns a call's last result and reports the earlier results as progress. */
const lastOf = (
  results: Stream.Stream<AiTool.HandlerResult<AiTool.Any>, unknown, RequestServices>
): Effect.Effect<AiTool.HandlerResult<AiTool.Any> | undefined, unknown, RequestServices> =>
  Effect.suspend(() => {
    let last: AiTool.HandlerResult<AiTool.Any> | undefined
    let count = 0
    return Effect.map(
      Stream.runForEach(results, (result) => {
        if (!result.preliminary) {
          last = result
          return Effect.void
        }
        return Progress.report(++count, { message: text(result.encodedResult).slice(0, maxMessage) })
      }),
      () => last
    )
  })

const Approval = Schema.Struct({ run: Schema.Boolean })

/** If the tool requires approval, fails unless the caller's user approves. */
const approved = (tool: AiTool.Any, input: unknown) =>
  Effect.gen(function* () {
    const { needsApproval = false } = tool
    const asked =
      typeof needsApproval === "boolean" ? needsApproval : needsApproval(input, { toolCallId: "", messages: [] })
    const name = `needsApproval of ${tool.name}`
    if (!checkedBoolean(name, typeof asked === "boolean" ? asked : yield* checkedEffect(name, asked))) return
    const title = Context.getOrUndefined(tool.annotations, AiTool.Title) ?? tool.name
    const { run } = yield* Elicitation.form(`Run ${title}?`, Approval, { key: `approve ${tool.name}` })
    yield* run ? Effect.void : new Tools.ToolFailure({ message: `The user did not allow ${tool.name} to run` })
  })

/** Runs one of the toolkit's calls and returns its last result. */
const run = Effect.fnUntraced(function* (tool: AiTool.Any, handle: Handle, params: unknown) {
  const last = yield* Effect.catch(Effect.flatMap(handle(tool.name, params), lastOf), (error) => failed(tool, error))
  if (last === undefined) return yield* Effect.die(new Error(`The toolkit returned no result for ${tool.name}`))
  return last.isFailure ? yield* failed(tool, last.result) : last
})

/** Converts a toolkit failure, which is a declared failure or rejected arguments. Anything else is a defect and is not shown. */
const failed = (tool: AiTool.Any, error: unknown): Effect.Effect<never, unknown> => {
  const isDeclared: boolean = Schema.is(withoutServices(tool.failureSchema))(error)
  if (isDeclared) return Effect.fail(error)
  if (AiError.isAiError(error) && error.reason._tag === "ToolParameterValidationError") {
    return Effect.fail(new Tools.ToolFailure({ message: error.reason.message }))
  }
  return Effect.die(error)
}

const content = (value: unknown) => [{ type: "text" as const, text: text(value) }]

/** Serves a tool whose arguments are described by a JSON Schema. Its failures are text for the model. */
const servedRaw = (
  tool: AiTool.Any,
  inputSchema: { readonly [key: string]: unknown },
  handle: Handle,
  options: Tools.Options | undefined
) =>
  Tools.layer(
    Tool.raw(tool.name, { ...describe(tool), inputSchema: { ...inputSchema } }),
    (input) =>
      run(tool, handle, input).pipe(
        Effect.mapError((error) =>
          error instanceof Tools.ToolFailure ? error : new Tools.ToolFailure({ message: text(error) })
        ),
        (call) => Effect.andThen(approved(tool, input), call),
        Effect.map(({ encodedResult }) =>
          isJsonObject(encodedResult)
            ? { content: content(encodedResult), structuredContent: encodedResult }
            : { content: content(encodedResult) }
        )
      ),
    options
  )

const served = (tool: AiTool.Any, handle: Handle, options: Tools.Options | undefined) => {
  if (AiTool.isDynamic(tool) && tool.jsonSchema !== undefined) return servedRaw(tool, tool.jsonSchema, handle, options)
  const input = withoutServices(tool.parametersSchema)
  const output = withoutServices(tool.successSchema)
  const described = { ...describe(tool), input, failure: withoutServices(tool.failureSchema) }
  /** The toolkit decodes its input itself. */
  const call = (codec: Tool.ValueCodec<unknown>) => (value: unknown) =>
    Effect.andThen(
      approved(tool, value),
      Effect.flatMap(Effect.orDie(codec.encode(value)), (params) => run(tool, handle, params))
    )
  const kind = kindOf(output)
  if (kind === "structured") {
    const contract = Tool.make(tool.name, { ...described, output })
    const handler = call(contract.input)
    return Tools.layer(contract, (value) => Effect.map(handler(value), ({ result }): unknown => result), options)
  }
  const contract = Tool.make(tool.name, described)
  const handler = call(contract.input)
  return Tools.layer(
    contract,
    (value) => Effect.map(handler(value), ({ encodedResult }) => (kind === "nothing" ? [] : content(encodedResult))),
    options
  )
}

/**
 * Serves a toolkit's tools for the lifetime of the layer. The handlers come from `toolkit.toLayer`. A tool's `dependencies` may include
 * request services such as `Elicitation`.
 *
 * A text success becomes the result's content, and any other success becomes structured content. A declared failure becomes a result with
 * `isError`, which clients using the same schema receive as a typed failure; an `AiError` is a defect. If a tool has `needsApproval`, the
 * caller's user is asked to approve each call in a form. Throws if a schema can't be expressed as JSON Schema.
 *
 * @example
 * ```ts
 * import { ServedToolkit } from "@effect-mcp/ai"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer, Schema } from "effect"
 * import { Tool, Toolkit } from "effect/ai"
 *
 * const Forecast = Tool.make("forecast", {
 *   description: "The weather of tomorrow",
 *   parameters: Schema.Struct({ city: Schema.String }),
 *   success: Schema.Struct({ celsius: Schema.Finite })
 * })
 * const Weather = Toolkit.make(Forecast)
 * const handlers = Weather.toLayer({ forecast: ({ city }) => Effect.succeed({ celsius: city.length }) })
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(Layer.provide(ServedToolkit.layer(Weather), handlers), "2025-11-25")
 *   const { structuredContent } = yield* client.callToolByName("forecast", { city: "Rome" })
 *   yield* Console.log(JSON.stringify(structuredContent)) // => {"celsius":4}
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <Kit extends Record<string, AiTool.Any>>(
  toolkit: Toolkit.Toolkit<Kit> & Servable<Kit>,
  options?: Tools.Options
): Layer.Layer<
  never,
  never,
  Tools.ToolRegistry | AiTool.HandlersFor<Kit> | Exclude<AiTool.Requirements<Kit[keyof Kit]>, RequestServices>
> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const built = yield* toolkit
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names come from the toolkit's own tools
      const handle = built.handle as unknown as Handle
      const services = yield* Effect.context<Exclude<AiTool.Requirements<Kit[keyof Kit]>, RequestServices>>()
      const tools = Object.values(built.tools).filter((tool) => !AiTool.isProviderDefined(tool) || tool.requiresHandler)
      const layers = tools.map((tool) => served(tool, handle, options))
      return Layer.provide(Layer.mergeAll(Layer.empty, ...layers), Layer.succeedContext(services))
    })
  )
