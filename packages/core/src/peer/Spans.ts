/**
 * Spans of requests, questions and notifications, by OpenTelemetry's semantic conventions for MCP and GenAI (in development; read at
 * version 1.44.0 of November 2026).
 *
 * Where the program has no tracer there is no span, and no cost. Refuses to record results and headers, and arguments unless `RecordedArguments` asks
 * for them.
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
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { digest } from "../internal/digest.ts"
import type { Lane, Sink } from "../transport/Transport.ts"
import { parentOf } from "./parentOf.ts"
import { isTraced, metaOf, withEntries } from "./TraceContext.ts"

/** Attributes that a transport or a session knows; what is undefined is left out. */
export interface Surroundings {
  readonly session?: string | undefined
  /** Whether knowing the id of the session admits to it, as over HTTP: spans get a digest. Default false. */
  readonly isSecret?: boolean | undefined
  /** The version of the protocol. */
  readonly revision?: string | undefined
  /** The kind of the transport, as views show it: `http`, `sse`, `stdio` and others. */
  readonly transport?: string | undefined
  /** The headers of the HTTP request. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/**
 * What spans record of the arguments of a tool call (`gen_ai.tool.call.arguments`): undefined for nothing. Default: nothing of any call, for
 * arguments may be secrets.
 */
export const RecordedArguments = Context.Reference<(tool: string, args: unknown) => string | undefined>(
  "@effect-mcp/core/Spans/RecordedArguments",
  { defaultValue: () => () => undefined }
)

type Message = Pick<JsonRpc.Request, "method" | "params"> & { readonly id?: JsonRpc.Id | undefined }
type Attributes = Readonly<Record<string, string>>

const longest = 256

/** Of a resource, as attributes name it: its user and its query may be secrets. */
const resource = (uri: unknown): string | undefined =>
  typeof uri === "string" ? withoutSecrets(uri).slice(0, longest) : undefined

const nothing: Surroundings = {}

/** What surrounds a message that was received, kept with its span: notifications that are sent within it have the same. */
class Around extends Context.Service<Around, Surroundings>()("@effect-mcp/core/Spans/Around") {}

/**
 * The name of a tool or prompt as spans show it: at most 128 letters, digits and `_`, `-`, `.` and `/`, with `_` in place of anything else.
 * A caller may send any text as a name, and names of spans end up in dashboards, alerts and logs.
 */
const clean = (name: string): string => name.slice(0, 128).replace(/[^\p{L}\p{N}_./-]+/gu, "_")

/** The tool or prompt that a message names, and the attribute for it. */
const targetOf = ({ method, params }: Message): readonly [attribute: string, name: string] | undefined => {
  const name = params?.name
  if (typeof name !== "string") return undefined
  if (method === "tools/call") return ["gen_ai.tool.name", clean(name)]
  return method === "prompts/get" ? ["gen_ai.prompt.name", clean(name)] : undefined
}

/** The attributes for a kind of transport. */
export const transportAttributes = (kind: string | undefined): Attributes => {
  if (kind === "http" || kind === "sse") return { "network.transport": "tcp", "network.protocol.name": "http" }
  return kind === "stdio" ? { "network.transport": "pipe" } : {}
}

/** A span that is not sampled is sent nowhere: it gets no attributes, and they are not put together. */
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

/** Why a request has no good result, as `error.type` names it: a code, `tool_error`, `cancelled`, or the tag of an error. */
export const errorTypeOf = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (Exit.isSuccess(exit)) return isJsonObject(exit.value) && exit.value["isError"] === true ? "tool_error" : undefined
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "-32603"
  const { error } = failure
  if (error instanceof McpError) return `${error.code}`
  return isJsonObject(error) && typeof error["_tag"] === "string" ? error["_tag"].toLowerCase() : "_OTHER"
}

/** A failed span of a call whose result says so. */
const toolFailed = Exit.fail({ name: "tool_error", message: "The result of the tool has isError" })

/** For a server, a request that its client got wrong is no error of the span. */
const isServerError = (code: number): boolean => code === -32603 || (code <= -32000 && code >= -32099)

const statusOf = (kind: Tracer.SpanKind, exit: Exit.Exit<unknown, unknown>, error: string | undefined) => {
  if (error === "tool_error") return toolFailed
  if (kind === "client" || Exit.isSuccess(exit)) return exit
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  return failure?.error instanceof McpError && !isServerError(failure.error.code) ? Exit.void : exit
}

/** Of a success there is nothing to say: the end of `useSpan` ends its span. */
const settle = (span: Tracer.Span, context: Context.Context<never>, exit: Exit.Exit<unknown, unknown>): void => {
  const error = errorTypeOf(exit)
  if (error === undefined) return
  const status = statusOf(span.kind, exit, error)
  // OpenTelemetry: a span without an error has no `error.type`.
  if (Exit.isFailure(status)) span.attribute("error.type", error)
  if (/^-\d/.test(error)) span.attribute("rpc.response.status_code", error)
  // The exit of the effect would end the span otherwise: its first end counts.
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
 * Runs the handling of a message in a span of kind `server`. Its parent is the span that the `_meta` of the message names, or else the
 * HTTP header `traceparent`, or else the current one; where another one is current, it is linked.
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

/** What the span of a run of a task says. */
export interface TaskRun {
  readonly tool: string
  /** Not the id itself where it is a right. */
  readonly id: () => string
  readonly revision: string
  /** From 1; grows with each run that recorded nothing new. */
  readonly attempt: number
  /** The span of the request that made the task, as `traceparent`. */
  readonly creator: string | undefined
  /** Why the run is over, once it is. */
  readonly end: () => "ended" | "parked" | "stopped"
}

/**
 * Runs the handler of a task in a span of kind `internal`. It has no parent, for it outlives the request that made the task: it is linked to
 * the span of that request.
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
        // A run that is parked has not failed.
        if (end() === "parked") span.end(Context.get(fiber.context, Clock.Clock).currentTimeNanosUnsafe(), Exit.void)
        else settle(span, fiber.context, exit)
        return Effect.void
      })
    )
  })

/**
 * Runs the sending of a message, and the wait for its answer, in a span of kind `client`. Its parent is the span that the `_meta` of the
 * message names, as a program may set it. Where the current span is of the same trace, the message was received and is passed on: then
 * the current span is the parent.
 */
export const client = <A, E, R>(
  message: Message,
  send: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  Effect.withFiber((fiber) => {
    const parent = senderOf(message, Context.getOrUndefined(fiber.context, Tracer.ParentSpan))
    return within(message, nothing, fiber.context, { kind: "client", parent }, send)
  })

/** The span that the `_meta` of a message names, where it is to be the parent; undefined for the current one. */
const senderOf = ({ params }: Message, current: Tracer.AnySpan | undefined): Tracer.AnySpan | undefined => {
  const named = parentOf(metaOf(params))
  return named?.traceId === current?.traceId ? undefined : named
}

/** The span of the received message that the span belongs to. */
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

/** What the spans of notifications are made of, where the current fiber does not say it. */
export interface SpanSource {
  /** What is said of the conversation. Default: what the span of the current request says. */
  readonly surroundings?: (() => Surroundings) | undefined
  /** The context of what is sent outside of fibers: from microtasks and promises. Default: that has no span. */
  readonly tracing?: Context.Context<never> | undefined
  /** The parent of what is sent outside of fibers. Default: the current span of `tracing`. */
  readonly parent?: Tracer.AnySpan | undefined
}

/** The request of the current fiber as sender, where there is a tracer. */
export const currentSender = (): SpanSource | undefined => {
  const context = Fiber.getCurrent()?.context
  if (context === undefined || !isTraced(context)) return undefined
  // A service may be made within a span of its own: that has ended when the service is used.
  return { tracing: context, parent: receivedIn(Context.getOrUndefined(context, Tracer.ParentSpan)) }
}

/**
 * Sends a notification. With a tracer the sending is a span of kind `client`, and `_meta` carries it. Its parent is chosen as `client` does. Progress has no span and no `_meta`: it is an event of the current span.
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

/** Events of progress that one span has at most: as many as OpenTelemetry keeps by default. */
const maxProgress = 128
const progressEvents = new WeakMap<Tracer.Span, number>()

const progressed = (
  span: Tracer.AnySpan | undefined,
  context: Context.Context<never>,
  params: JsonRpc.Params | undefined
): void => {
  if (span?._tag !== "Span" || !span.sampled) return
  const before = progressEvents.get(span) ?? 0
  if (before >= maxProgress) return
  progressEvents.set(span, before + 1)
  const { progress, total } = params ?? {}
  span.event("notifications/progress", Context.get(context, Clock.Clock).currentTimeNanosUnsafe(), {
    "mcp.progress.value": progress,
    ...(total === undefined ? undefined : { "mcp.progress.total": total })
  })
}
