/** Prompts of a server: lists them, returns their messages, and completes their arguments. */
import type { Part } from "@effect-mcp/promise/internal/compat"
import { InvalidValue } from "@effect-mcp/core/Tool"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { JsonObject } from "../model/types.ts"
import { completerOf, isCompletable } from "../schema/completable.ts"
import { type AnySchema, partOf, shapeOf, validated } from "../schema/schemas.ts"
import type { ServerContext } from "../request/ServerContext.ts"
import { offerCompletions } from "./completions.ts"
import type { PromptConfig, PromptUpdates, RegisteredPrompt } from "./features.ts"
import { Registry } from "./Registry.ts"
import type { Server } from "./Server.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- `McpServer` types its arguments from their schema
type Callback = (...args: Array<any>) => unknown

interface PromptEntry {
  readonly config: PromptConfig<AnySchema | undefined>
  readonly args: Part | undefined
  readonly callback: Callback
}

const entryOf = (name: string, config: PromptConfig<AnySchema | undefined>, callback: Callback): PromptEntry => {
  const { argsSchema } = config
  const args = argsSchema && partOf(`The argsSchema of the prompt ${JSON.stringify(name)}`, argsSchema, "input")
  return { config, args, callback }
}

const isObject = (u: unknown): u is { readonly [key: string]: unknown } => typeof u === "object" && u !== null

const argumentsOf = ({ jsonSchema }: Part): Array<JsonObject> => {
  const { properties, required } = jsonSchema
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
    const description = isObject(schema) ? schema["description"] : undefined
    return { name, ...(typeof description === "string" && { description }), required: names.includes(name) }
  })
}

const described = (name: string, { args, config }: PromptEntry): JsonObject => {
  const { _meta, description, icons, title } = config
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(args && { arguments: argumentsOf(args) }),
    ...(icons && { icons }),
    ...(_meta && { _meta })
  }
}

export class Prompts {
  readonly #server: Server
  readonly #registry: Registry<PromptEntry>

  constructor(server: Server) {
    this.#server = server
    this.#registry = new Registry("Prompt", () => server.announce("prompts"))
  }

  /** Declares the capability and sets the handlers of its methods. */
  offer(): void {
    if (this.#server.handler("prompts/list") !== undefined) return
    const listChanged = this.#server.capabilities().prompts?.listChanged ?? true
    this.#server.registerCapabilities({ prompts: { listChanged } })
    this.#server.answerList("prompts/list", () => ({
      prompts: this.#registry.offered().map(([name, entry]) => described(name, entry))
    }))
    this.#server.answer("prompts/get", ({ params }, context) => this.#get(params, context))
  }

  add(name: string, config: PromptConfig<AnySchema | undefined>, callback: Callback): RegisteredPrompt {
    const entry = entryOf(name, config, callback)
    this.offer()
    if (Object.values(shapeOf(config.argsSchema)).some(isCompletable)) {
      offerCompletions(this.#server, "ref/prompt", (ref, argument) => this.#completer(ref, argument))
    }
    return this.#registry.add<PromptUpdates>(
      name,
      entry,
      (known, { callback, enabled: _enabled, name: key, ...updates }) => {
        const given = Object.entries(updates).filter(([, value]) => value !== undefined)
        const changed = { ...known.config, ...Object.fromEntries(given) }
        return { value: entryOf(key ?? name, changed, callback ?? known.callback), key }
      }
    )
  }

  #entry(name: string): PromptEntry {
    const entry = this.#registry.get(name)
    if (entry?.enabled === true) return entry.value
    const why = entry === undefined ? "not found" : "disabled"
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt ${name} ${why}`)
  }

  #completer(ref: JsonObject, argument: string) {
    const { config } = this.#entry(String(ref["name"]))
    return completerOf(shapeOf(config.argsSchema)[argument])
  }

  async #get(params: JsonObject, context: ServerContext): Promise<unknown> {
    const name = String(params["name"])
    const { args, callback } = this.#entry(name)
    if (args === undefined) return callback(context)
    try {
      return await callback(await validated(args, params["arguments"] ?? {}), context)
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid arguments for prompt ${name}: ${error.message}`)
    }
  }
}
