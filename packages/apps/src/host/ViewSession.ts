/**
 * The session between a host and one view. It decodes each message from the view, limits the messages' size and rate, and keeps the order
 * that the specification requires: nothing is sent before the view is initialized, and the result follows the arguments.
 */
import { callback } from "@effect-mcp/core/internal/calling"
import * as Framing from "@effect-mcp/core/Framing"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { protocolVersion } from "../contract/UiExtension.ts"
import type { DisplayMode, HostContext } from "../view/types.ts"
import { makeRate } from "./Bounds.ts"
import { called, capabilitiesOf } from "./Handlers.ts"
import * as Messages from "./Messages.ts"
import { errorOf, refused, type RequestHost, requests } from "./Requests.ts"

/** Messages from and to a view, as JSON. */
export interface ViewWire {
  /** Messages from the view. The end of the stream ends the session. */
  readonly incoming: Stream.Stream<string>
  readonly send: (message: string) => Effect.Effect<void>
}

/** The view to open. */
export interface ViewOpening {
  /** URI of the view. */
  readonly uri: string
  readonly wire: ViewWire
  /** The tool whose call the view shows. Default: unknown. */
  readonly tool?: Tool | undefined
  /** Context of this view, in addition to the host's. Default: none. */
  readonly context?: HostContext | undefined
}

/** An open view. Messages that are sent before the view is ready arrive when it is. */
export interface ViewSession {
  /** Completes when the view is ready. */
  readonly ready: Effect.Effect<void>
  /** Completes with the reason when the view asks to be removed, exceeds a limit or is gone. */
  readonly ended: Effect.Effect<string>
  /** Sends the arguments of the tool call. Only the first ones count. */
  readonly sendInput: (args: JsonObject) => Effect.Effect<void>
  /** Sends arguments that the model is still writing. Ignored after `sendInput`. */
  readonly sendPartialInput: (args: JsonObject) => Effect.Effect<void>
  /** Sends the result of the tool call. A view that has received no arguments receives empty ones first. */
  readonly sendResult: (result: CallToolResult) => Effect.Effect<void>
  /** Tells the view that its tool call was cancelled. */
  readonly sendCancelled: (reason?: string) => Effect.Effect<void>
  /** Changes the view's context. */
  readonly changeContext: (change: HostContext) => Effect.Effect<void>
}

/** The parts of a host that are the same for all of its views. */
export type SessionHost = Pick<RequestHost, "client" | "consent" | "limits" | "options" | "tools">

type Fields = { readonly [key: string]: unknown }
type Id = string | number
interface Waiting {
  readonly method: string
  readonly params: Fields
}

const contextChanged = "ui/notifications/host-context-changed"

const isId = (id: unknown): id is Id => typeof id === "string" || (typeof id === "number" && Number.isFinite(id))

/** How long a view may take to prepare for its removal, in milliseconds. */
const teardownTime = 1000
const teardownId = "effect-mcp-teardown"

class Session {
  private readonly host: SessionHost
  private readonly opening: ViewOpening
  private readonly fibers: FiberMap.FiberMap<Id>
  private readonly rate: Effect.Effect<"accepted" | "refused" | "ended">
  private readonly fork: (effect: Effect.Effect<void>) => unknown
  private context: HostContext
  private declaredModes: ReadonlyArray<DisplayMode> | undefined
  private state: "silent" | "greeted" | "ready" = "silent"
  private input: "partial" | "complete" = "partial"
  private waiting: ReadonlyArray<Waiting> = []
  readonly isReady = Deferred.makeUnsafe<void>()
  /** Completes with the reason for which the view should be removed. */
  readonly end = Deferred.makeUnsafe<string>()
  /** Completes when no more messages from the view are read. */
  readonly stop = Deferred.makeUnsafe<void>()
  private readonly tornDown = Deferred.makeUnsafe<void>()

  constructor(
    host: SessionHost,
    opening: ViewOpening,
    fibers: FiberMap.FiberMap<Id>,
    rate: Session["rate"],
    fork: Session["fork"]
  ) {
    this.host = host
    this.opening = opening
    this.fibers = fibers
    this.rate = rate
    this.fork = fork
    const { tool } = opening
    this.context = {
      ...host.options.context,
      ...(tool === undefined ? undefined : { toolInfo: { tool } }),
      ...opening.context
    }
  }

  private observe(from: "host" | "view", message: unknown, why?: string): void {
    const { observe } = this.host.options
    if (observe === undefined) return
    callback("AppHost.observe", this.fork, () => observe({ view: this.opening.uri, from, message, refused: why }))
  }

  private send(fields: Fields): Effect.Effect<void> {
    return Effect.suspend(() => {
      const message = { jsonrpc: "2.0", ...fields }
      this.observe("host", message)
      return this.opening.wire.send(JSON.stringify(message))
    })
  }

  /** Sends a notification as soon as the view is ready. */
  private notify(method: string, params: Fields): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.state === "ready") return this.send({ method, params })
      const earlier = this.waiting.find((message) => message.method === method)
      // Merges context changes. Of all other messages, a view that is not ready only needs the latest.
      const all = method === contextChanged ? { ...earlier?.params, ...params } : params
      this.waiting = [...this.waiting.filter((message) => message !== earlier), { method, params: all }]
      return Effect.void
    })
  }

  readonly sendPartialInput: ViewSession["sendPartialInput"] = (args) =>
    Effect.suspend(() =>
      this.input === "complete" ? Effect.void : this.notify("ui/notifications/tool-input-partial", { arguments: args })
    )

  readonly sendInput: ViewSession["sendInput"] = (args) =>
    Effect.suspend(() => {
      if (this.input === "complete") return Effect.void
      this.input = "complete"
      this.waiting = this.waiting.filter(({ method }) => method !== "ui/notifications/tool-input-partial")
      return this.notify("ui/notifications/tool-input", { arguments: args })
    })

  readonly sendResult: ViewSession["sendResult"] = (result) =>
    Effect.andThen(this.sendInput({}), this.notify("ui/notifications/tool-result", { ...result }))

  readonly sendCancelled: ViewSession["sendCancelled"] = (reason) =>
    this.notify("ui/notifications/tool-cancelled", reason === undefined ? {} : { reason })

  readonly changeContext: ViewSession["changeContext"] = (change) =>
    Effect.suspend(() => {
      this.context = { ...this.context, ...change }
      // A view that is not ready receives the whole context with the answer to its first request.
      return this.state === "silent" ? Effect.void : this.notify(contextChanged, change)
    })

  readonly listChanged = (method: string): Effect.Effect<void> => this.notify(method, {})

  private readonly requestHost = (): RequestHost => ({
    ...this.host,
    view: this.opening.uri,
    initialize: ({ appCapabilities }) => {
      this.declaredModes = appCapabilities.availableDisplayModes
      if (this.state === "silent") this.state = "greeted"
      const { options } = this.host
      return {
        protocolVersion,
        hostInfo: options.hostInfo ?? { name: "effect-mcp", version: "0.1.0" },
        hostCapabilities: capabilitiesOf(options),
        hostContext: this.context
      }
    },
    mode: () => ({
      current: this.context.displayMode ?? "inline",
      supported: (this.context.availableDisplayModes ?? []).filter((mode) => this.declaredModes?.includes(mode) ?? true)
    }),
    modeChanged: (displayMode) => this.changeContext({ displayMode })
  })

  private fail(id: Id, error: unknown): Effect.Effect<void> {
    return this.send({ id, error: errorOf(error) })
  }

  private request(id: Id, method: string, params: unknown): Effect.Effect<void> {
    const answer = requests.get(method)
    if (answer === undefined)
      return this.send({ id, error: { code: -32601, message: "Method not supported by this host" } })
    if (this.state === "silent" && method !== "ui/initialize" && method !== "ping") {
      return this.fail(id, refused("The view must send ui/initialize first"))
    }
    if (FiberMap.hasUnsafe(this.fibers, id))
      return this.fail(id, refused("A request with this id is already in progress"))
    if (this.size() >= this.host.limits.requests) return this.fail(id, refused("Too many requests are in progress"))
    const run = Effect.matchCauseEffect(
      Effect.suspend(() => answer(params, this.requestHost())),
      {
        onSuccess: (result) => this.send({ id, result }),
        onFailure: (cause) => {
          if (Cause.hasInterruptsOnly(cause)) return Effect.void
          const error = Cause.squash(cause)
          const hidden = errorOf(error).code === -32603
          const logged = hidden
            ? Effect.logError(`A request from the view ${this.opening.uri} failed`, cause)
            : Effect.void
          return Effect.andThen(logged, this.fail(id, error))
        }
      }
    )
    return Effect.asVoid(FiberMap.run(this.fibers, id, run))
  }

  private size(): number {
    return [...this.fibers].length
  }

  private notification(method: string, params: unknown): Effect.Effect<void> {
    const { options } = this.host
    const { uri } = this.opening
    switch (method) {
      case "ui/notifications/initialized":
        return this.initialized()
      case "ui/notifications/request-teardown":
        return Effect.asVoid(Deferred.succeed(this.end, "The view asked to be removed"))
      case "ui/notifications/size-changed": {
        const { resized } = options
        return this.told(Messages.Size, params, resized && ((size) => resized(size, uri)))
      }
      case "notifications/message": {
        const { logged } = options
        return this.told(Messages.LogMessage, params, logged && ((message) => logged(message, uri)))
      }
      case "notifications/cancelled":
        return this.told(Messages.Cancelled, params, ({ requestId }) =>
          Effect.sync(() => {
            const fiber = FiberMap.getUnsafe(this.fibers, requestId)
            if (fiber._tag === "Some") fiber.value.interruptUnsafe()
          })
        )
      default:
        return Effect.void
    }
  }

  /** Passes a notification to its handler. A malformed one is ignored, and a handler that fails is logged. */
  private told<S extends Schema.Codec<unknown, unknown>>(
    schema: S,
    params: unknown,
    handler: ((params: S["Type"]) => Effect.Effect<void>) | undefined
  ): Effect.Effect<void> {
    if (handler === undefined) return Effect.void
    return Effect.matchEffect(Schema.decodeUnknownEffect(schema)(params), {
      onFailure: () => Effect.void,
      onSuccess: (params) =>
        Effect.catchCause(
          called(() => handler(params)),
          (cause) => Effect.logError("An AppHost handler failed", cause)
        )
    })
  }

  /** Sends the waiting messages. New messages wait behind them, because the result must not precede the arguments. */
  private initialized(): Effect.Effect<void> {
    if (this.state !== "greeted") return Effect.void
    const [next, ...later] = this.waiting
    if (next === undefined) {
      this.state = "ready"
      return Effect.asVoid(Deferred.succeed(this.isReady, undefined))
    }
    this.waiting = later
    return Effect.flatMap(this.send({ method: next.method, params: next.params }), () => this.initialized())
  }

  /** Handles one message. Never fails. */
  readonly receive = (text: string): Effect.Effect<void> => {
    const { messageLength } = this.host.limits
    if (text.length > messageLength) {
      this.observe("view", text.slice(0, 200), "too long")
      return this.ending(`The view sent a message that is too long: ${text.length} characters, limit ${messageLength}`)
    }
    return Effect.flatMap(this.rate, (verdict) => {
      if (verdict === "ended") return this.ending("The view sent too many messages")
      const message = parsed(text)
      if (message === undefined) {
        this.observe("view", text.slice(0, 200), "not a JSON-RPC message")
        return Effect.void
      }
      const { id, method, params } = message
      this.observe("view", message, verdict === "refused" ? "too many messages" : undefined)
      if (typeof method !== "string") {
        return id === teardownId ? Effect.asVoid(Deferred.succeed(this.tornDown, undefined)) : Effect.void
      }
      if (verdict === "refused") return isId(id) ? this.fail(id, refused("Too many messages")) : Effect.void
      if (id === undefined) return this.notification(method, params)
      return isId(id) ? this.request(id, method, params) : Effect.void
    })
  }

  readonly ending = (reason: string): Effect.Effect<void> =>
    Effect.andThen(Deferred.succeed(this.end, reason), Effect.asVoid(Deferred.succeed(this.stop, undefined)))

  /** Lets the view prepare for its removal. */
  readonly teardown: Effect.Effect<void> = Effect.suspend(() => {
    if (this.state !== "ready" || Deferred.isDoneUnsafe(this.stop)) return Effect.void
    return Effect.andThen(
      this.send({ id: teardownId, method: "ui/resource-teardown", params: {} }),
      Effect.asVoid(Effect.timeoutOption(Deferred.await(this.tornDown), teardownTime))
    )
  })
}

/** Parses a message from the view. Returns `undefined` if it is not JSON-RPC, or if it is nested too deeply to be walked or printed safely. */
const parsed = (text: string): Fields | undefined => {
  if (Framing.isDeeper(text, Framing.defaultMaxMessageDepth)) return undefined
  try {
    const message: unknown = JSON.parse(text)
    return isJsonObject(message) && message["jsonrpc"] === "2.0" ? message : undefined
  } catch {
    return undefined
  }
}

/** Opens a session. When the scope closes, the view can prepare for its removal before the session ends. */
export const open = Effect.fnUntraced(function* (
  host: SessionHost,
  opening: ViewOpening
): Effect.fn.Return<ViewSession, never, Scope.Scope> {
  const fibers = yield* FiberMap.make<Id>()
  const rate = yield* makeRate(host.limits.messagesPerSecond)
  const fork = yield* Effect.map(Effect.context<never>(), Effect.runForkWith)
  const session = new Session(host, opening, fibers, rate, fork)
  const reading = Effect.ensuring(
    Effect.raceFirst(Stream.runForEach(opening.wire.incoming, session.receive), Deferred.await(session.stop)),
    Effect.andThen(FiberMap.clear(fibers), session.ending("The view was closed"))
  )
  yield* Effect.forkScoped(reading, { startImmediately: true })
  yield* Effect.addFinalizer(() => session.teardown)
  const { client } = host
  const changes = [
    [client.toolChanges, "notifications/tools/list_changed"],
    [client.resourceChanges, "notifications/resources/list_changed"]
  ] as const
  for (const [stream, method] of changes) {
    yield* Effect.forkScoped(Stream.runForEach(stream, () => session.listChanged(method)))
  }
  const { changeContext, sendCancelled, sendInput, sendPartialInput, sendResult } = session
  return {
    ready: Deferred.await(session.isReady),
    ended: Deferred.await(session.end),
    changeContext,
    sendCancelled,
    sendInput,
    sendPartialInput,
    sendResult
  }
})
