/** Tools of a server: lists and calls them. */
import type { Part } from "@effect-mcp/promise/internal/compat"
import { InvalidValue } from "@effect-mcp/core/Tool"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import { isInputRequiredResult } from "../model/inputRequired.ts"
import { messageOf } from "../model/report.ts"
import type { CallToolResult, JsonObject } from "../model/types.ts"
import { wantsObject } from "../request/Context.ts"
import type { ServerContext } from "../request/ServerContext.ts"
import { type AnySchema, partOf, validated } from "../schema/schemas.ts"
import type { RegisteredTool, ToolConfig, ToolUpdates } from "./features.ts"
import { Registry } from "./Registry.ts"
import type { Server } from "./Server.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- `McpServer` types its arguments from their schema
type Callback = (...args: Array<any>) => unknown

interface ToolEntry {
  readonly config: ToolConfig<AnySchema | undefined, AnySchema | undefined>
  readonly input: Part | undefined
  readonly output: Part | undefined
  readonly callback: Callback
}

const noArguments = { type: "object", properties: {} }

const entryOf = (
  name: string,
  config: ToolConfig<AnySchema | undefined, AnySchema | undefined>,
  callback: Callback
): ToolEntry => {
  const of = `of the tool ${JSON.stringify(name)}`
  const { inputSchema, outputSchema } = config
  return {
    config,
    input: inputSchema && partOf(`The inputSchema ${of}`, inputSchema, "input"),
    output: outputSchema && partOf(`The outputSchema ${of}`, outputSchema, "output", false),
    callback
  }
}

const isOfObject = ({ jsonSchema: { type } }: Part): boolean => type === undefined || type === "object"

/** Wraps a schema of non-object values, for revisions that require structured content to be an object. */
const wrapped = ({ jsonSchema }: Part) => ({ type: "object", properties: { result: jsonSchema }, required: ["result"] })

/** Returns the list entry of a tool. `asObject` is true if structured content must be an object. */
const described = (name: string, { config, input, output }: ToolEntry, asObject: boolean): JsonObject => {
  const { _meta, annotations, description, icons, title } = config
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: input === undefined ? noArguments : { ...input.jsonSchema, type: "object" },
    ...(output && { outputSchema: asObject && !isOfObject(output) ? wrapped(output) : output.jsonSchema }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    ...(_meta && { _meta })
  }
}

const failed = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true })

const isResult = (u: unknown): u is { readonly isError?: unknown; readonly structuredContent?: unknown } =>
  typeof u === "object" && u !== null

/** Decodes the arguments. Throws an error that names the tool. */
const argumentsOf = async (name: string, input: Part, given: unknown): Promise<unknown> => {
  try {
    return await validated(input, given ?? {})
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Input validation error: Invalid arguments for tool ${name}: ${error.message}`
    )
  }
}

/** Throws if a result does not fit the output schema. */
const checkOutput = async (name: string, output: Part, result: unknown): Promise<void> => {
  if (!isResult(result) || result.isError === true) return
  const wrong = (message: string) =>
    new ProtocolError(ProtocolErrorCode.InvalidParams, `Output validation error: ${message}`)
  if (result.structuredContent === undefined) {
    throw wrong(`Tool ${name} has an output schema but no structured content was provided`)
  }
  try {
    await validated(output, result.structuredContent)
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    throw wrong(`Invalid structured content for tool ${name}: ${error.message}`)
  }
}

const isObject = (u: unknown): boolean => typeof u === "object" && u !== null && !Array.isArray(u)

/**
 * Adds structured content as JSON text if the handler returned no content. If `asObject` is set, wraps a value that is not an object in
 * one.
 */
const withText = (result: unknown, asObject: boolean): unknown => {
  if (!isResult(result) || result.structuredContent === undefined) return result
  const { structuredContent } = result
  const structured = asObject && !isObject(structuredContent) ? { result: structuredContent } : structuredContent
  const content: unknown = "content" in result ? result.content : undefined
  if (Array.isArray(content) && content.length > 0) return { ...result, structuredContent: structured }
  const text = JSON.stringify(structuredContent)
  return { ...result, structuredContent: structured, content: [{ type: "text", text }] }
}

export class Tools {
  readonly #server: Server
  readonly #registry: Registry<ToolEntry>
  readonly #unknown: (error: ProtocolError) => unknown

  /** `unknown` answers calls of unknown or disabled tools. */
  constructor(server: Server, unknown: (error: ProtocolError) => unknown) {
    this.#server = server
    this.#unknown = unknown
    this.#registry = new Registry("Tool", () => server.announce("tools"))
  }

  /** Declares the capability and sets the handlers of its methods. */
  offer(): void {
    if (this.#server.handler("tools/list") !== undefined) return
    const listChanged = this.#server.capabilities().tools?.listChanged ?? true
    this.#server.registerCapabilities({ tools: { listChanged } })
    this.#server.answerList("tools/list", (_, context) => ({
      tools: this.#registry.offered().map(([name, entry]) => described(name, entry, wantsObject(context)))
    }))
    this.#server.answer("tools/call", ({ params }, context) => this.#call(params, context))
  }

  add(
    name: string,
    config: ToolConfig<AnySchema | undefined, AnySchema | undefined>,
    callback: Callback
  ): RegisteredTool {
    const entry = entryOf(name, config, callback)
    this.offer()
    return this.#registry.add<ToolUpdates>(
      name,
      entry,
      (known, { callback, enabled: _enabled, name: key, ...updates }) => {
        const { paramsSchema, ...described } = updates
        const given = Object.entries(described).filter(([, value]) => value !== undefined)
        const changed = {
          ...known.config,
          ...Object.fromEntries(given),
          ...(paramsSchema && { inputSchema: paramsSchema })
        }
        return { value: entryOf(key ?? name, changed, callback ?? known.callback), key }
      }
    )
  }

  async #call(params: JsonObject, context: ServerContext): Promise<unknown> {
    const name = String(params["name"])
    const entry = this.#registry.get(name)
    if (entry?.enabled !== true) {
      const why = entry === undefined ? "not found" : "disabled"
      return this.#unknown(new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name} ${why}`))
    }
    const { callback, input, output } = entry.value
    try {
      const result: unknown =
        input === undefined
          ? await callback(context)
          : await callback(await argumentsOf(name, input, params["arguments"]), context)
      if (isInputRequiredResult(result)) return result
      if (output !== undefined) await checkOutput(name, output, result)
      return withText(result, wantsObject(context))
    } catch (error) {
      const isQuestion = error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired
      if (isQuestion) throw error
      return failed(messageOf(error))
    }
  }
}
