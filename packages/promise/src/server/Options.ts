/**
 * How a server and its features are described. Times are in milliseconds, sizes in bytes.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { ErrorPlace, HandlerContext, Principal } from "../handler/Context.ts"
import type { Annotations, Icon, Meta } from "../model/Content.ts"
import type { Completion, Implementation, ToolAnnotations } from "../model/Results.ts"

/** The dated versions of the protocol. */
export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

export interface ServerOptions extends Implementation {
  /** Tells the model how to use this server. */
  readonly instructions?: string
  /** The revisions to serve. Default: all. */
  readonly revisions?: ReadonlyArray<Revision>
  /** Declares tools, resources and prompts before any is registered: for servers that add them while they run. Default false. */
  readonly dynamic?: boolean
  /** Items per page of a list. Default 100. */
  readonly pageSize?: number
  /** How long a client may take to answer a question. Default 10 minutes. */
  readonly askTimeout?: number
  /** How long a handler may run on after its request was cancelled; then it is let go: its result is dropped. Default 2 seconds. */
  readonly cancelGrace?: number
  /** Limits of tools without their own. Default: an hour and 3 MiB. */
  readonly limits?: ToolLimits
  /** Calls of tools per second and caller; `false` for no limit. Default 1000. */
  readonly rateLimit?: number | false
  /** Called with each error that a handler throws, before it is answered: for a log of your own. What it throws itself is logged to stderr. */
  readonly onError?: (error: unknown, place: ErrorPlace) => void
}

/** Limits of one call. Beyond them its result has `isError` and names the tool and the limit. */
export interface ToolLimits {
  /** How long a call may run, its questions included; then its signal aborts. */
  readonly time?: number
  /** The largest result. */
  readonly bytes?: number
}

interface Shown {
  /** The name to show in a user interface. */
  readonly title?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly meta?: Meta
  /**
   * Returns whether a caller may know of it; otherwise it does not exist. If it throws, or returns anything but a boolean, it is hidden and
   * `onError` is called. Default: shown to all.
   */
  readonly visible?: (principal: Principal) => boolean
}

export interface ToolOptions<I, O> extends Shown {
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /** The schema of the arguments, a Standard Schema with a JSON Schema. Default: no arguments. */
  readonly input?: I
  /** The schema of the structured result, which is validated. Default: the handler returns content. */
  readonly output?: O
  /** Hints for clients, untrusted by them. */
  readonly annotations?: ToolAnnotations
  readonly limits?: ToolLimits
}

/** Suggests values for an argument: `value` is its text so far, `others` the arguments that are set already. */
export type Completer = (
  value: string,
  others: { readonly [argument: string]: string }
) => Suggestions | PromiseLike<Suggestions>

/** Values in order of relevance; of more than 100 the first 100 are sent. */
export type Suggestions = ReadonlyArray<string> | Completion

interface ResourceDescription extends Shown {
  /** The name for programs; `title` is the one to show. */
  readonly name: string
  readonly description?: string
  readonly mimeType?: string
  readonly annotations?: Annotations
}

export interface ResourceOptions extends ResourceDescription {
  /** In bytes, before any encoding. */
  readonly size?: number
}

export interface TemplateOptions<T extends string> extends ResourceDescription {
  /** Completers by variable of the template. */
  readonly complete?: { readonly [variable in keyof Variables<T> & string]?: Completer }
  /** Members to list beside the template itself. */
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
  /** The schema of the arguments: an object of strings, on the wire. Default: no arguments. */
  readonly arguments?: A
  /** Completers by argument. */
  readonly complete?: { readonly [argument in ArgumentNames<A>]?: Completer }
}

/** A request with its params, as JSON in the names of the newest revision. */
export interface IncomingRequest {
  /** Such as `tools/call`. */
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
}

/** What a hook may know of its request. */
export type HookContext = Pick<HandlerContext, "client" | "log" | "meta" | "principal" | "revision" | "sessionId">

/**
 * How a request ended. `answered`: with a result. `toolFailed`: with a result that has `isError`. `asked`: this round ended with a question
 * (2026-07-28). `cancelled`: by the client, or with its connection. `failed`: with an `error`, answered by its code, or by -32603.
 */
export type RequestOutcome =
  | { readonly kind: "answered" | "toolFailed"; readonly result: unknown }
  | { readonly kind: "asked" | "cancelled" }
  | { readonly kind: "failed"; readonly error: unknown }

/** Hooks of a server. */
export interface Hooks {
  /**
   * Called before each request but `initialize` and `ping`; the request waits for it. What it throws is the answer, and nothing else runs: an
   * `McpError` as it is, of other errors the message with -32603.
   */
  readonly before?: (request: IncomingRequest, context: HookContext) => void | PromiseLike<void>
  /** Called after each request that `before` let pass. What it throws goes to `onError` and changes nothing. */
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

/** The variables of a URI that a template matches (RFC 6570): several values for `{list*}`; one of a query may be missing. */
export type Variables<T extends string> = string extends T
  ? { readonly [variable: string]: string | ReadonlyArray<string> | undefined }
  : T extends `${string}{${infer E}}${infer Rest}`
    ? Expression<E> & Variables<Rest>
    : unknown
