/** `@modelcontextprotocol/sdk/server/mcp.js`: includes the older methods that register features. */
import type {
  PromptResult,
  ReadCallback,
  ReadTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ResourceTemplate,
  ToolResult
} from "../../server/features.ts"
import { McpServer as Newer } from "../../server/McpServer.ts"
import type { ServerOptions } from "../../server/Server.ts"
import { ExperimentalMcpServerTasks, type TaskStore } from "../experimental/tasks.ts"
import { Server } from "./index.ts"
import type { ServerContext } from "../../request/ServerContext.ts"
import type { AnySchema, Output, RawShape } from "../../schema/schemas.ts"
import { McpError, type ProtocolError } from "../../model/errors.ts"
import type { Implementation, ToolAnnotations } from "../../model/types.ts"

export {
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  type ResourceMetadata,
  ResourceTemplate
} from "../../server/features.ts"
export type { PromptCallback, ToolCallback } from "../../server/McpServer.ts"
export type { RequestHandlerExtra } from "../shared/protocol.ts"

type Async<A> = A | PromiseLike<A>
// oxlint-disable-next-line typescript/no-explicit-any -- the overloads say which arguments it has
type Callback<A> = (...args: Array<any>) => Async<A>
type Handler<S, A> = (args: Output<S>, extra: ServerContext) => Async<A>
type Plain<A> = (extra: ServerContext) => Async<A>

export interface McpServerOptions extends ServerOptions {
  /** Stores the tasks of `experimental.tasks.registerToolTask`. */
  taskStore?: TaskStore | undefined
  /** Accepted and ignored: a task's questions are sent at once. */
  taskMessageQueue?: unknown
}

const isCallback = (u: unknown): u is Callback<never> => typeof u === "function"

const callbackOf = <A>(feature: string, rest: ReadonlyArray<unknown>): Callback<A> => {
  const callback = rest.find((part): part is Callback<A> => isCallback(part))
  if (callback !== undefined) return callback
  throw new TypeError(`The ${feature} has no handler. Pass it as the last argument`)
}

const isSchema = (u: unknown): u is { readonly "~standard": unknown } =>
  typeof u === "object" && u !== null && ("~standard" in u || "safeParse" in u)

/** True if the members of an object are schemas. Otherwise it is annotations. */
const isShape = (u: unknown): u is RawShape =>
  typeof u === "object" && u !== null && (isSchema(u) || Object.values(u).every(isSchema))

/** The server of v1. */
export class McpServer extends Newer {
  /** Registers tools that run as tasks. */
  readonly experimental: { readonly tasks: ExperimentalMcpServerTasks }

  constructor(info: Implementation, options: McpServerOptions = {}) {
    super(info, options)
    const tasks = new ExperimentalMcpServerTasks(
      (name, config, callback) =>
        this.registerTool<AnySchema | undefined, AnySchema | undefined>(name, config, callback),
      options.taskStore
    )
    this.experimental = { tasks }
  }

  protected override serverOf(info: Implementation, options: ServerOptions): Server {
    return new Server(info, options)
  }

  /** Returns a failed result, as in v1. */
  protected override unknownTool({ code, message }: ProtocolError): ToolResult {
    return { content: [{ type: "text", text: new McpError(code, message).message }], isError: true }
  }

  /** Positional form of `registerTool`: name, description, fields of the arguments, annotations, handler. */
  tool(name: string, callback: Plain<ToolResult>): RegisteredTool
  tool(name: string, description: string, callback: Plain<ToolResult>): RegisteredTool
  tool<S extends RawShape>(name: string, fields: S, callback: Handler<S, ToolResult>): RegisteredTool
  tool<S extends RawShape>(
    name: string,
    description: string,
    fields: S,
    callback: Handler<S, ToolResult>
  ): RegisteredTool
  tool<S extends RawShape>(
    name: string,
    description: string,
    fields: S,
    annotations: ToolAnnotations,
    callback: Handler<S, ToolResult>
  ): RegisteredTool
  tool(name: string, ...rest: ReadonlyArray<unknown>): RegisteredTool {
    const callback = callbackOf<ToolResult>(`tool ${name}`, rest)
    const description = rest.find((part) => typeof part === "string")
    const objects = rest.filter((part) => typeof part === "object")
    const inputSchema = objects.find(isShape)
    const annotations = objects.find((part): part is ToolAnnotations => part !== inputSchema && part !== null)
    return this.registerTool<RawShape | undefined>(
      name,
      { description, inputSchema, annotations: annotations && { ...annotations } },
      callback
    )
  }

  /** Positional form of `registerResource`. The metadata may be omitted, or are the third argument. */
  resource(name: string, uri: string, read: ReadCallback): RegisteredResource
  resource(name: string, uri: string, metadata: ResourceMetadata, read: ReadCallback): RegisteredResource
  resource(name: string, template: ResourceTemplate, read: ReadTemplateCallback): RegisteredResourceTemplate
  resource(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    read: ReadTemplateCallback
  ): RegisteredResourceTemplate
  resource(
    name: string,
    place: string | ResourceTemplate,
    ...rest: ReadonlyArray<ResourceMetadata | ReadCallback | ReadTemplateCallback>
  ): RegisteredResource | RegisteredResourceTemplate {
    const read = rest.find(isCallback)
    if (read === undefined) throw new TypeError(`Resource ${name} has no handler. Pass it as the last argument`)
    const metadata = rest.find((part) => typeof part === "object") ?? {}
    return typeof place === "string"
      ? this.registerResource(name, place, metadata, read)
      : this.registerResource(name, place, metadata, read)
  }

  /** Positional form of `registerPrompt`: name, description, fields of the arguments, handler. */
  prompt(name: string, callback: Plain<PromptResult>): RegisteredPrompt
  prompt(name: string, description: string, callback: Plain<PromptResult>): RegisteredPrompt
  prompt<S extends RawShape>(name: string, fields: S, callback: Handler<S, PromptResult>): RegisteredPrompt
  prompt<S extends RawShape>(
    name: string,
    description: string,
    fields: S,
    callback: Handler<S, PromptResult>
  ): RegisteredPrompt
  prompt(name: string, ...rest: ReadonlyArray<unknown>): RegisteredPrompt {
    const callback = callbackOf<PromptResult>(`prompt ${name}`, rest)
    const description = rest.find((part) => typeof part === "string")
    return this.registerPrompt<RawShape | undefined>(name, { description, argsSchema: rest.find(isShape) }, callback)
  }
}
