/**
 * Creates spans for requests, questions and notifications, following OpenTelemetry's semantic conventions for MCP and GenAI (in
 * development, as of version 1.44.0 from November 2026).
 *
 * Without a tracer there are no spans, and this costs nothing. Results and headers are never recorded. Arguments are only recorded if
 * `RecordedArguments` says so.
 */
import { withoutSecrets } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { McpError } from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { memoize } from "effect/Function"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { digest } from "../internal/digest.ts"
import type { Lane, Sink } from "../transport/Transport.ts"
import { parentOf } from "./parentOf.ts"
import { isTraced, metaOf, withEntries } from "./TraceContext.ts"

/** Attributes provided by a transport or session. `undefined` attributes are omitted. */
export interface Surroundings {
  readonly session?: string | undefined
  /** True if the session ID grants access to the session, as over HTTP. Spans then contain a digest instead. Default false. */
  readonly isSecret?: boolean | undefined
  /** Protocol version. */
  readonly revision?: string | undefined
  /** Transport kind, as shown in views: `http`, `sse`, `stdio` and others. */
  readonly transport?: string | undefined
  /** HTTP request headers. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/**
 * Returns the text to record as the arguments in a tool call's span (`gen_ai.tool.call.arguments`), or `undefined` to record nothing. By
 * default nothing is recorded, because arguments may contain secrets.
 */
export const RecordedArguments = Context.Reference<(tool: string, args: unknown) => string | undefined>(
  "@effect-mcp/core/Spans/RecordedArguments",
  { defaultValue: () => () => undefined }
)

type Message = Pick<JsonRpc.Request, "method" | "params"> & { readonly id?: JsonRpc.Id | undefined }
type Attributes = Readonly<Record<string, string>>

const longest = 256

/** Returns a resource's URI without its user and query, which may contain secrets. */
const resource = (uri: unknown): string | undefined =>
  typeof uri === "string" ? withoutSecrets(uri).slice(0, longest) : undefined

const nothing: Surroundings = {}

/** Attributes of a received message, stored with its span. Notifications sent within the span use the same attributes. */
class Around extends Context.Service<Around, Surroundings>()("@effect-mcp/core/Spans/Around") {}

/**
 * Sanitizes the name of a tool or prompt for use in spans: keeps at most 128 characters, and replaces everything except letters, digits,
 * `_`, `-`, `.` and `/` with `_`. A caller may send any text as a name, and span names appear in dashboards, alerts and logs.
 */
const clean = (name: string): string => name.slice(0, 128).replace(/[^\p{L}\p{N}_./-]+/gu, "_")

/** Returns the tool or prompt a message refers to, with its attribute name. */
const targetOf = ({ method, params }: Message): readonly [attribute: string, name: string] | undefined => {
  const name = params?.name
  if (typeof name !== "string") return undefined
  if (method === "tools/call") return ["gen_ai.tool.name", clean(name)]
  return method === "prompts/get" ? ["gen_ai.prompt.name", clean(name)] : undefined
}

/** Returns the attributes for a transport kind. */
export const transportAttributes = (kind: string | undefined): Attributes => {
  if (kind === "http" || kind === "sse") return { "network.transport": "tcp", "network.protocol.name": "http" }
  return kind === "stdio" ? { "network.transport": "pipe" } : {}
}

/** Adds attributes. Skips unsampled spans, which are never exported. */
const annotate = (
  span: Tracer.Span,
  { id, method, params }: Message,
  target: readonly [attribute: string, name: string] | undefined,
  { isSecret, revision, session, transport }: Surroundings,
  context: Context.Context<never>
): void => {
  if (!span.sampled) return
  span.attribute("mcp.method.name", method.slice(0, longest))
  if (id !== undefined) span.attribute("jsonrpc.request.id", String(id).slice(0, longest))
  if (target !== undefined) span.attribute(target[0], target[1])
  if (method === "tools/call") {
    span.attribute("gen_ai.operation.name", "execute_tool")
    const tool = params?.name
    const recorded =
      typeof tool === "string" ? Context.get(context, RecordedArguments)(tool, params?.arguments) : undefined
    if (recorded !== undefined) span.attribute("gen_ai.tool.call.arguments", recorded)
  }
  const uri = method.startsWith("resources/") ? resource(params?.uri) : undefined
  if (uri !== undefined) span.attribute("mcp.resource.uri", uri)
  if (session !== undefined) span.attribute("mcp.session.id", isSecret ? digest(session) : session)
  if (revision !== undefined) span.attribute("mcp.protocol.version", revision)
  const network = transportAttributes(transport)
  for (const name in network) span.attribute(name, network[name])
}

/** Returns the `error.type` of an unsuccessful request: an error code, `tool_error`, `cancelled`, or an error tag. */
export const errorTypeOf = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (Exit.isSuccess(exit)) return isJsonObject(exit.value) && exit.value["isError"] === true ? "tool_error" : undefined
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "-32603"
  const { error } = failure
  if (error instanceof McpError) return `${error.code}`
  return isJsonObject(error) && typeof error["_tag"] === "string" ? error["_tag"].toLowerCase() : "_OTHER"
}

/** Marks a call's span as failed if its result has `isError`. */
const toolFailed = Exit.fail({ name: "tool_error", message: "The result of the tool has isError" })

/** True if an error code is the server's fault. A client's invalid request is not an error in the server's span. */
const isServerError = (code: number): boolean => code === -32603 || (code <= -32000 && code >= -32099)

const statusOf = (kind: Tracer.SpanKind, exit: Exit.Exit<unknown, unknown>, error: string | undefined) => {
  if (error === "tool_error") return toolFailed
  if (kind === "client" || Exit.isSuccess(exit)) return exit
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  return failure?.error instanceof McpError && !isServerError(failure.error.code) ? Exit.void : exit
}

/** Ends a span with an error. A success needs no action, because `useSpan` ends the span. */
const settle = (span: Tracer.Span, context: Context.Context<never>, exit: Exit.Exit<unknown, unknown>): void => {
  const error = errorTypeOf(exit)
  if (error === undefined) return
  const status = statusOf(span.kind, exit, error)
  // OpenTelemetry: a span without an error has no `error.type`.
  if (Exit.isFailure(status)) span.attribute("error.type", error)
  if (/^-\d/.test(error)) span.attribute("rpc.response.status_code", error)
  // Ends the span with this status before the effect's exit does. Only the first end counts.
  span.end(Context.get(context, Clock.Clock).currentTimeNanosUnsafe(), status)
}

const within = <A, E, R>(
  message: Message,
  around: Surroundings,
  context: Context.Context<never>,
  options: Tracer.SpanOptionsNoTrace & { readonly kind: "client" | "server" },
  use: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> => {
  const target = targetOf(message)
  const method = message.method.slice(0, longest)
  return Effect.useSpan(target === undefined ? method : `${method} ${target[1]}`, options, (span) => {
    annotate(span, message, target, around, context)
    return Effect.onExit(Effect.withParentSpan(use(span), span, { captureStackTrace: false }), (exit) => {
      settle(span, context, exit)
      return Effect.void
    })
  })
}

/**
 * Runs the handling of a message in a span of kind `server`. The parent is the span in the message's `_meta`, otherwise the span in the
 * HTTP `traceparent` header, otherwise the current span. If a different span is current, the two are linked.
 */
export const server = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  message: Message,
  surroundings: () => Surroundings = () => ({})
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    if (!isTraced(fiber.context)) return effect
    const { _meta: meta } = message.params ?? {}
    const around = surroundings()
    const parent =
      (isJsonObject(meta) ? parentOf(meta) : undefined) ??
      (around.headers === undefined ? undefined : parentOf(around.headers))
    const ambient = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
    const links = parent !== undefined && ambient !== undefined ? [{ span: ambient, attributes: {} }] : []
    const annotations = Context.make(Around, around)
    return within(message, around, fiber.context, { kind: "server", parent, links, annotations }, () => effect)
  })

/** Describes a task run for its span. */
interface TaskRun {
  readonly tool: string
  /** Returns the ID to display. If knowing the task ID grants access, this is a different ID. */
  readonly id: () => string
  readonly revision: string
  /** Starts at 1, and increases with each run that records nothing new. */
  readonly attempt: number
  /** The span of the request that created the task, as a `traceparent`. */
  readonly creator: string | undefined
  /** Returns why the run is over. Only called once it is. */
  readonly end: () => "ended" | "parked" | "stopped"
}

/**
 * Runs a task's handler in a span of kind `internal`. The span has no parent, because it outlives the request that created the task.
 * Instead, it is linked to that request's span.
 */
export const taskRun = <A, E, R>(effect: Effect.Effect<A, E, R>, run: TaskRun): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    if (!isTraced(fiber.context)) return effect
    const { attempt, creator, end, id, revision, tool } = run
    const span = creator === undefined ? undefined : parentOf({ traceparent: creator })
    const attributes = {
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool.slice(0, longest),
      "mcp.protocol.version": revision,
      "mcp.task.id": id(),
      "mcp.task.attempt": attempt
    }
    const links = span === undefined ? [] : [{ span, attributes: {} }]
    const options = { kind: "internal" as const, root: true, links, attributes }
    return Effect.useSpan(`execute_tool ${tool.slice(0, longest)}`, options, (span) =>
      Effect.onExit(Effect.withParentSpan(effect, span, { captureStackTrace: false }), (exit) => {
        span.attribute("mcp.task.run.end", end())
        // A parked run hasn't failed.
        if (end() === "parked") span.end(Context.get(fiber.context, Clock.Clock).currentTimeNanosUnsafe(), Exit.void)
        else settle(span, fiber.context, exit)
        return Effect.void
      })
    )
  })

/**
 * Sends a message and waits for its response in a span of kind `client`. The parent is the span in the message's `_meta`, if the program
 * set one. If the current span belongs to the same trace, the message was received and is being forwarded, so the current span is the
 * parent.
 */
export const client = <A, E, R>(
  message: Message,
  send: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  Effect.withFiber((fiber) => {
    const parent = senderOf(message, Context.getOrUndefined(fiber.context, Tracer.ParentSpan))
    return within(message, nothing, fiber.context, { kind: "client", parent }, send)
  })

/** Returns the span in a message's `_meta` if it should be the parent, or `undefined` to use the current span. */
const senderOf = ({ params }: Message, current: Tracer.AnySpan | undefined): Tracer.AnySpan | undefined => {
  const named = parentOf(metaOf(params))
  return named?.traceId === current?.traceId ? undefined : named
}

/** Returns the span of the received message that this span belongs to. */
const receivedIn = (span: Tracer.AnySpan | undefined): Tracer.Span | undefined => {
  for (let at = span; at?._tag === "Span"; at = Option.getOrUndefined(at.parent)) {
    if (Context.getOrUndefined(at.annotations, Around) !== undefined) return at
  }
  return undefined
}

const aroundOf = (span: Tracer.AnySpan | undefined): Surroundings => {
  const received = receivedIn(span)
  return (received && Context.getOrUndefined(received.annotations, Around)) ?? nothing
}

/** Defaults for notification spans, used if the current fiber has no span. */
export interface SpanSource {
  /** Connection attributes. Default: the attributes of the current request's span. */
  readonly surroundings?: (() => Surroundings) | undefined
  /** Context for messages sent outside of fibers, from microtasks and promises. Default: these messages have no span. */
  readonly tracing?: Context.Context<never> | undefined
  /** Parent of messages sent outside of fibers. Default: the current span in `tracing`. */
  readonly parent?: Tracer.AnySpan | undefined
}

/** Returns the current fiber's request as the sender, if there is a tracer. */
export const currentSender = (): SpanSource | undefined => {
  const context = Fiber.getCurrent()?.context
  if (context === undefined || !isTraced(context)) return undefined
  // A service may be created within its own span, which has ended by the time the service is used.
  return { tracing: context, parent: receivedIn(Context.getOrUndefined(context, Tracer.ParentSpan)) }
}

/**
 * Sends a notification. With a tracer, this creates a span of kind `client`, which is added to `_meta`. The parent is chosen in the same
 * way as in `client`. Progress has no span and no `_meta`, because it is an event in the current span.
 */
export const notify = (
  sink: Sink,
  notification: JsonRpc.Notification,
  lane: Lane,
  relatedTo: JsonRpc.Id | undefined,
  sender?: SpanSource
): void => {
  const fiber = Fiber.getCurrent()
  const context = fiber?.context ?? sender?.tracing
  if (context === undefined || !isTraced(context)) return sink.send(notification, lane, relatedTo)
  const outside = fiber === undefined ? sender?.parent : undefined
  const current = outside ?? Context.getOrUndefined(context, Tracer.ParentSpan)
  const { method, params } = notification
  if (method === "notifications/progress") {
    progressed(current, context, params)
    return sink.send(notification, lane, relatedTo)
  }
  const around = sender?.surroundings?.() ?? aroundOf(current)
  const parent = senderOf(notification, current) ?? outside
  const sending = within(notification, around, context, { kind: "client", parent }, () =>
    Effect.withFiber((fiber) => {
      sink.send({ ...notification, params: withEntries(params, fiber.context) }, lane, relatedTo)
      return Effect.void
    })
  )
  Effect.runSyncWith(context)(sending)
}

/** Maximum number of progress events per span. Same as OpenTelemetry's default limit. */
const maxProgress = 128
const progressEvents = memoize<Tracer.Span, { count: number }>(() => ({ count: 0 }))

const progressed = (
  span: Tracer.AnySpan | undefined,
  context: Context.Context<never>,
  params: JsonRpc.Params | undefined
): void => {
  if (span?._tag !== "Span" || !span.sampled) return
  const events = progressEvents(span)
  if (events.count++ >= maxProgress) return
  const { progress, total } = params ?? {}
  span.event("notifications/progress", Context.get(context, Clock.Clock).currentTimeNanosUnsafe(), {
    "mcp.progress.value": progress,
    ...(total === undefined ? undefined : { "mcp.progress.total": total })
  })
}
