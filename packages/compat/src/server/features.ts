/** Features that a program registers: descriptions of tools, resources and prompts, and the handles that change them later. */
import type { AnySchema } from "../schema/schemas.ts"
import type { CompleteCallback } from "../schema/completable.ts"
import type { ServerContext } from "../request/ServerContext.ts"
import type { CacheHint } from "../request/Definition.ts"
import type {
  Annotations,
  CallToolResult,
  GetPromptResult,
  Icon,
  InputRequiredResult,
  JsonObject,
  ListResourcesResult,
  ReadResourceResult,
  ToolAnnotations
} from "../model/types.ts"
import { UriTemplate, type Variables } from "../model/UriTemplate.ts"

type Async<A> = A | PromiseLike<A>

interface Described {
  title?: string | undefined
  description?: string | undefined
  icons?: Array<Icon> | undefined
  _meta?: JsonObject | undefined
}

export interface ToolConfig<I, O> extends Described {
  /** Schema of the arguments: an object schema, or an object of schemas. Default: the handler receives no arguments. */
  inputSchema?: I | undefined
  /** Schema of the structured result, which is validated. */
  outputSchema?: O | undefined
  annotations?: ToolAnnotations | undefined
}

export interface ResourceMetadata extends Described {
  mimeType?: string | undefined
  size?: number | undefined
  annotations?: Annotations | undefined
  /** How long a read result stays fresh (2026-07-28). */
  cacheHint?: CacheHint | undefined
  [key: string]: unknown
}

export interface PromptConfig<A> extends Described {
  argsSchema?: A | undefined
}

export type ToolResult = CallToolResult | InputRequiredResult
export type PromptResult = GetPromptResult | InputRequiredResult
export type ReadResult = ReadResourceResult | InputRequiredResult

export type ReadCallback = (uri: URL, context: ServerContext) => Async<ReadResult>
export type ReadTemplateCallback = (uri: URL, variables: Variables, context: ServerContext) => Async<ReadResult>

/** Handle that changes a registered feature. Each change is announced to clients. */
export interface Registered<U> {
  enabled: boolean
  enable(): void
  disable(): void
  remove(): void
  update(updates: U & { enabled?: boolean | undefined }): void
}

export interface ToolUpdates extends Omit<ToolConfig<AnySchema, AnySchema>, "inputSchema"> {
  /** `null` removes the tool. */
  name?: string | null | undefined
  paramsSchema?: AnySchema | undefined
  // oxlint-disable-next-line typescript/no-explicit-any -- the schema beside it types the arguments
  callback?: ((...args: Array<any>) => Async<ToolResult>) | undefined
}
export interface ResourceUpdates {
  name?: string | undefined
  title?: string | undefined
  /** `null` removes the resource. */
  uri?: string | null | undefined
  metadata?: ResourceMetadata | undefined
  callback?: ReadCallback | undefined
}
export interface TemplateUpdates {
  /** `null` removes the template. */
  name?: string | null | undefined
  title?: string | undefined
  template?: ResourceTemplate | undefined
  metadata?: ResourceMetadata | undefined
  callback?: ReadTemplateCallback | undefined
}
export interface PromptUpdates extends Omit<PromptConfig<AnySchema>, never> {
  /** `null` removes the prompt. */
  name?: string | null | undefined
  // oxlint-disable-next-line typescript/no-explicit-any -- the schema beside it types the arguments
  callback?: ((...args: Array<any>) => Async<PromptResult>) | undefined
}

export type RegisteredTool = Registered<ToolUpdates>
export type RegisteredResource = Registered<ResourceUpdates>
export type RegisteredResourceTemplate = Registered<TemplateUpdates>
export type RegisteredPrompt = Registered<PromptUpdates>

interface TemplateCallbacks {
  /** Lists the resources that match the template, or `undefined` if they cannot be listed. */
  list: ((context: ServerContext) => Async<ListResourcesResult>) | undefined
  complete?: { [variable: string]: CompleteCallback } | undefined
}

/** A URI template (RFC 6570), and the functions that list its resources and complete its variables. */
export class ResourceTemplate {
  readonly uriTemplate: UriTemplate
  readonly callbacks: TemplateCallbacks

  constructor(uriTemplate: string, callbacks: TemplateCallbacks) {
    this.callbacks = callbacks
    this.uriTemplate = new UriTemplate(uriTemplate)
  }

  completeCallback(variable: string): CompleteCallback | undefined {
    return this.callbacks.complete?.[variable]
  }
}
