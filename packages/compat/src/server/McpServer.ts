/** The SDK's `McpServer`: tools, resources and prompts by name, on top of a low-level `Server`. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { ProtocolError } from "../model/errors.ts"
import type { Implementation } from "../model/types.ts"
import type { ServerContext } from "../request/ServerContext.ts"
import type { AnySchema, Output, RawShape } from "../schema/schemas.ts"
import type {
  PromptConfig,
  PromptResult,
  ReadCallback,
  ReadTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ResourceTemplate,
  ToolConfig,
  ToolResult
} from "./features.ts"
import { Prompts } from "./Prompts.ts"
import { Resources } from "./Resources.ts"
import { Server, type ServerOptions } from "./Server.ts"
import { Tools } from "./Tools.ts"
import type { Transport } from "./Transport.ts"

type Async<A> = A | PromiseLike<A>

/** A handler. With a schema it receives arguments and context, otherwise only the context. */
export type ToolCallback<I = undefined> = I extends AnySchema
  ? (args: Output<I>, context: ServerContext) => Async<ToolResult>
  : (context: ServerContext) => Async<ToolResult>
export type PromptCallback<A = undefined> = A extends AnySchema
  ? (args: Output<A>, context: ServerContext) => Async<PromptResult>
  : (context: ServerContext) => Async<PromptResult>

type Schema = StandardSchemaV1 | RawShape | undefined

/**
 * A server of tools, resources and prompts. Connect it to a transport, or pass a function that creates it to `serveStdio` or
 * `createMcpHandler`.
 *
 * @example
 * ```ts
 * import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
 * import { McpServer } from "@effect-mcp/compat/server"
 * import { z } from "zod"
 *
 * const server = new McpServer({ name: "weather", version: "1.0.0" })
 * server.registerTool("weather", { inputSchema: z.object({ city: z.string() }) }, async ({ city }) => ({
 *   content: [{ type: "text", text: `Sunny in ${city}` }]
 * }))
 *
 * const [near, far] = InMemoryTransport.createLinkedPair()
 * await server.connect(far)
 * const client = new Client({ name: "example", version: "1.0.0" })
 * await client.connect(near)
 * const { content } = await client.callTool({ name: "weather", arguments: { city: "Oslo" } })
 * console.log(JSON.stringify(content)) // => [{"type":"text","text":"Sunny in Oslo"}]
 * await client.close()
 * ```
 */
export class McpServer {
  /** The low-level server, for handlers by method and for questions outside of handlers. */
  readonly server: Server
  readonly #tools: Tools
  readonly #resources: Resources
  readonly #prompts: Prompts

  constructor(info: Implementation, options: ServerOptions = {}) {
    this.server = this.serverOf(info, options)
    this.#tools = new Tools(this.server, (error) => this.unknownTool(error))
    this.#resources = new Resources(this.server)
    this.#prompts = new Prompts(this.server)
    const { prompts, resources, tools } = options.capabilities ?? {}
    if (tools !== undefined) this.#tools.offer()
    if (resources !== undefined) this.#resources.offer()
    if (prompts !== undefined) this.#prompts.offer()
  }

  /** Creates the low-level server. */
  protected serverOf(info: Implementation, options: ServerOptions): Server {
    return new Server(info, options)
  }

  /** Answers a call of an unknown or disabled tool, by throwing the error. */
  protected unknownTool(error: ProtocolError): ToolResult {
    throw error
  }

  /** Registers a tool (spec: server/tools). Throws if the name is taken, or if a schema has no JSON Schema. */
  registerTool<const I extends Schema = undefined, const O extends Schema = undefined>(
    name: string,
    config: ToolConfig<I, O>,
    callback: ToolCallback<I>
  ): RegisteredTool {
    return this.#tools.add(name, config, callback)
  }

  /** Registers a resource at a URI, or the resources of a template (spec: server/resources). */
  registerResource(name: string, uri: string, config: ResourceMetadata, read: ReadCallback): RegisteredResource
  registerResource(
    name: string,
    template: ResourceTemplate,
    config: ResourceMetadata,
    read: ReadTemplateCallback
  ): RegisteredResourceTemplate
  registerResource(
    name: string,
    place: string | ResourceTemplate,
    config: ResourceMetadata,
    // oxlint-disable-next-line typescript/no-explicit-any -- the overloads say which arguments it has
    read: (...args: Array<any>) => Async<Awaited<ReturnType<ReadCallback>>>
  ): RegisteredResource | RegisteredResourceTemplate {
    return typeof place === "string"
      ? this.#resources.add(name, place, config, read)
      : this.#resources.addTemplate(name, place, config, read)
  }

  /** Registers a prompt (spec: server/prompts). Its arguments are strings on the wire. */
  registerPrompt<const A extends Schema = undefined>(
    name: string,
    config: PromptConfig<A>,
    callback: PromptCallback<A>
  ): RegisteredPrompt {
    return this.#prompts.add(name, config, callback)
  }

  /** Serves a transport. Resolves once it is open. */
  connect(transport: Transport): Promise<void> {
    return this.server.connect(transport)
  }

  close(): Promise<void> {
    return this.server.close()
  }

  isConnected(): boolean {
    return this.server.isConnected()
  }

  sendToolListChanged(): void {
    this.server.announce("tools")
  }

  sendResourceListChanged(): void {
    this.server.announce("resources")
  }

  sendPromptListChanged(): void {
    this.server.announce("prompts")
  }

  sendLoggingMessage(...args: Parameters<Server["sendLoggingMessage"]>): Promise<void> {
    return this.server.sendLoggingMessage(...args)
  }
}
