/** Options for servers and their features. Times are in milliseconds, sizes in bytes. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { ErrorPlace, HandlerContext, Principal } from "../handler/Context.ts"
import type { Annotations, ContentBlock, Icon, Meta } from "../model/Content.ts"
import type { Completion, Implementation, ToolAnnotations } from "../model/Results.ts"

/** Protocol revisions, by date. */
export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

export interface ServerOptions extends Implementation {
  /** Instructions that tell the model how to use this server. */
  readonly instructions?: string
  /** Revisions to support. Default: all. */
  readonly revisions?: ReadonlyArray<Revision>
  /** Declares tools, resources and prompts up front, for servers that register them while running. Default false. */
  readonly dynamic?: boolean
  /** Number of items per list page. Default 100. */
  readonly pageSize?: number
  /** How long to wait for the client to answer a question. Default 10 minutes. */
  readonly askTimeout?: number
  /** How long running requests may take to finish when the server closes. After that, their signals abort. Default 10 seconds. */
  readonly drain?: number
  /**
   * How long a handler may keep running after its request is cancelled. After that, the server stops waiting and drops the result. Default
   * 2 seconds.
   */
  readonly cancelGrace?: number
  /** Limits for tools that don't set their own, and how to send results that exceed them. Default: one hour and 3 MiB. */
  readonly limits?: ServerLimits
  /**
   * How to treat tools that some host cannot use. `project` advertises their schemas in a form that every host accepts, and logs a warning
   * for the rest; handlers receive the same input. `strict` makes the server fail to start instead of logging. `off` advertises schemas as
   * written. Default `project`.
   */
  readonly portability?: "project" | "strict" | "off"
  /** Maximum number of tool calls per second and caller, or `false` for no limit. Default 1000. */
  readonly rateLimit?: number | false
  /**
   * Called with each error a handler throws, before the response is sent. Use it for logging. If it throws, its error is logged to stderr.
   */
  readonly onError?: (error: unknown, place: ErrorPlace) => void
}

/** Limits for one tool call. If a call exceeds a limit, its result has `isError` and names the tool and the limit. */
export interface ToolLimits {
  /** How long a call may run, including time spent waiting for answers. After that, its signal aborts. */
  readonly time?: number
  /** Maximum size of the result. A server may keep larger results for the client; see its option `limits.spill`. */
  readonly bytes?: number
}

/** Limits for all tools of a server. */
export interface ServerLimits extends ToolLimits {
  /**
   * How to send results that exceed a tool's size limit. If spilling is on, the client receives the beginning and a link to a short-lived
   * resource, which it reads in ranges. If it is off, the client receives an error that names the limit. Default: on for servers that offer
   * resources, because clients read resources only from servers that declare them. `true` or options also declare resources.
   */
  readonly spill?: SpillOptions | boolean
}

/**
 * Results that are too large to send. They are held in memory, or in a database with the layer of `@effect-mcp/tasks/spill`. They belong to
 * the caller, or without one to everyone who knows their URI.
 */
export interface SpillOptions {
  /** How long a result can be read, in milliseconds. Default 10 minutes. */
  readonly timeToLive?: number
  /** Maximum size of one read, in bytes. Default 256 KiB. */
  readonly rangeBytes?: number
  /** Size in bytes of the beginning of the result, which the client receives at once. Default 2 KiB. */
  readonly previewBytes?: number
  /**
   * Maximum size held per caller, in bytes. To make room, a caller loses its oldest result. A result that is larger than this becomes an error.
   * Default 16 MiB.
   */
  readonly callerBytes?: number
  /** Maximum size held for all callers, in bytes. The caller that holds the most loses its oldest result. Default 128 MiB. */
  readonly totalBytes?: number
  /**
   * Whether to spill for clients that use revisions before 2025-06-18, which see the link as text. Default false: these clients receive the
   * error.
   */
  readonly withoutLinks?: boolean
}

interface Shown {
  /** Name to show in user interfaces. */
  readonly title?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly meta?: Meta
  /**
   * Returns true if this caller may see the feature. For other callers, the feature doesn't exist. If this throws or returns anything but a
   * boolean, the feature is hidden and `onError` is called. Default: visible to everyone.
   */
  readonly visible?: (principal: Principal) => boolean
}

export interface ToolOptions<I, O> extends Shown {
  /** Tells the model what this tool does and when to use it. */
  readonly description: string
  /** Schema for the arguments: a Standard Schema that can produce a JSON Schema. Default: no arguments. */
  readonly input?: I
  /** Schema for the structured result, which is validated. Default: the handler returns content. */
  readonly output?: O
  /**
   * Returns the content of a result, for example Markdown for a model that reads it better than JSON. The value itself is still sent as
   * structured content. Only for a tool with `output`. If the function throws or returns anything else, `onError` is called and the value is
   * sent as JSON. Default: the value as compact JSON.
   */
  readonly content?: (
    value: O extends StandardSchemaV1 ? StandardSchemaV1.InferInput<O> : never
  ) => string | ContentBlock | ReadonlyArray<ContentBlock>
  /** Hints for clients, which don't have to trust them. */
  readonly annotations?: ToolAnnotations
  readonly limits?: ToolLimits
  /**
   * Whether to let calls become tasks, which outlive their request. `optional`: if the client supports tasks; other clients call the tool as
   * usual. `required`: other clients can't see or call the tool. Requires `Tasks` of `@effect-mcp/tasks` among the server's features, whose
   * option `handles` serves other clients, too. Default: a call ends with its request.
   */
  readonly task?: "optional" | "required"
  /**
   * Milliseconds to wait for a call before the client receives a task instead of the result. Only with `task: "optional"`, in 2026-07-28; in
   * 2025-11-25 the client decides. Default: respond with the task immediately.
   */
  readonly taskAfter?: number
}

/** Suggests values for an argument. `value` is the text entered so far, and `others` holds the arguments already filled in. */
export type Completer = (
  value: string,
  others: { readonly [argument: string]: string }
) => Suggestions | PromiseLike<Suggestions>

/** Suggested values, most relevant first. Only the first 100 are sent. */
export type Suggestions = ReadonlyArray<string> | Completion

interface ResourceDescription extends Shown {
  /** Programmatic name. Use `title` for a display name. */
  readonly name: string
  readonly description?: string
  readonly mimeType?: string
  readonly annotations?: Annotations
}

export interface ResourceOptions extends ResourceDescription {
  /** Size in bytes, before any encoding. */
  readonly size?: number
}

export interface TemplateOptions<T extends string> extends ResourceDescription {
  /** Completers, by template variable. */
  readonly complete?: { readonly [variable in keyof Variables<T> & string]?: Completer }
  /** Returns resources to list in addition to the template itself. */
  readonly list?: () => Members | PromiseLike<Members>
}

type Members = ReadonlyArray<{
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly mimeType?: string
}>

export interface PromptOptions<A> extends Shown {
  readonly description?: string
  /** Schema for the arguments, which are sent as an object of strings. Default: no arguments. */
  readonly arguments?: A
  /** Completers by argument. */
  readonly complete?: { readonly [argument in ArgumentNames<A>]?: Completer }
}

/** A request with its JSON params, using the field names of the newest revision. */
export interface IncomingRequest {
  /** The method, such as `tools/call`. */
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
}

/** The part of the handler context that hooks can see. */
export type HookContext = Pick<HandlerContext, "client" | "log" | "meta" | "principal" | "revision" | "sessionId">

/**
 * How a request ended. `answered`: with a result. `toolFailed`: with a result that has `isError`. `asked`: this round ended with a question
 * (2026-07-28). `cancelled`: the client cancelled it or disconnected. `failed`: with an `error`, sent to the client with its code or with
 * -32603.
 */
export type RequestOutcome =
  | { readonly kind: "answered" | "toolFailed"; readonly result: unknown }
  | { readonly kind: "asked" | "cancelled" }
  | { readonly kind: "failed"; readonly error: unknown }

/** Hooks that run around a server's requests. */
export interface Hooks {
  /**
   * Called before each request except `initialize` and `ping`; the request waits for it. If it throws, nothing else runs and the error
   * becomes the response: an `McpError` as it is, and any other error as -32603 with its message.
   */
  readonly before?: (request: IncomingRequest, context: HookContext) => void | PromiseLike<void>
  /** Called after each request that `before` let through. If it throws, the error goes to `onError` and the response is unaffected. */
  readonly after?: (request: IncomingRequest, outcome: RequestOutcome, context: HookContext) => void
}

type ArgumentNames<A> = A extends StandardSchemaV1 ? keyof StandardSchemaV1.InferInput<A> & string : never

/** A variable of a list, without its modifier. */
type Bare<V extends string> = V extends `${infer Name}*` ? Name : V extends `${infer Name}:${string}` ? Name : V
/** The variables of a list; `Missing` is what one may be beside its value. */
type Listed<List extends string, Missing> = List extends `${infer First},${infer Rest}`
  ? Listed<First, Missing> & Listed<Rest, Missing>
  : { readonly [Name in Bare<List>]: (List extends `${string}*` ? string | ReadonlyArray<string> : string) | Missing }
type Expression<E extends string> = E extends `${"?" | "&"}${infer List}`
  ? Listed<List, undefined>
  : E extends `${"+" | "#" | "." | "/" | ";"}${infer List}`
    ? Listed<List, never>
    : Listed<E, never>

/** The variables in a URI matched by a template (RFC 6570). `{list*}` has several values, and query variables may be missing. */
export type Variables<T extends string> = string extends T
  ? { readonly [variable: string]: string | ReadonlyArray<string> | undefined }
  : T extends `${string}{${infer E}}${infer Rest}`
    ? Expression<E> & Variables<Rest>
    : unknown
