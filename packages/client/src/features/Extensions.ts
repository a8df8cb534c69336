/**
 * The client's members for extensions and for methods without a typed value. Encodes requests and decodes their answers.
 *
 * Sends nothing for an extension unless both sides declared it. `ExtensionNotifications` handles notifications.
 */
import * as Extension from "@effect-mcp/core/Extension"
import type { InvalidValue, ValueCodec } from "@effect-mcp/core/Tool"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import { type CapabilityMissing, type ClientError, InvalidResult } from "../ClientError.ts"
import type { RetryPolicy } from "../connection/Backoff.ts"
import type { ResultExchange, ExtensionPart } from "../extension/ClientExtension.ts"
import type { ExtensionCalls, RawNotification } from "../extension/ExtensionCalls.ts"
import * as InUse from "../extension/InUse.ts"
import type { OtherResult } from "../extension/OtherResult.ts"
import { Hub } from "../internal/Hub.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Notifications from "./ExtensionNotifications.ts"

export interface Options {
  readonly parts: ReadonlyArray<ExtensionPart>
  /** True if the client declares the extension, with a layer or by an option. */
  readonly declares: (id: string) => boolean
  readonly connection: () => ReconnectingConnection
  readonly policy: RetryPolicy | undefined
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
}

export interface Extensions {
  readonly calls: ExtensionCalls
  /**
   * Handles a notification that the revision does not define. Called by the reader. Returns false if no extension and no stream receives
   * it.
   */
  readonly received: (
    notification: JsonRpc.Notification,
    inUse: InUse.InUse | undefined,
    relatedTo: JsonRpc.Id | undefined
  ) => boolean
  /** Follows a result of another kind, such as a task, to the final result. */
  readonly follow: (other: OtherResult) => Effect.Effect<unknown, ClientError>
  /** Creates the operations available to an extension that follows the result of such a request. */
  readonly exchange: (method: string, params: JsonObject, options: CallOptions) => ResultExchange
  /** Ends every stream of notifications. */
  readonly close: () => void
}

/** Number of notifications to keep for a slow reader. */
const capacity = 256

/** Notification streams. Each method has its own queues, so that a flood of notifications for one method does not displace others. */
class Notified {
  readonly others = new Hub<RawNotification>()
  private readonly hubs = new Map<string, Hub<JsonObject>>()
  private isClosed = false

  of(method: string): Hub<JsonObject> {
    const hub = this.hubs.get(method) ?? new Hub<JsonObject>()
    if (this.isClosed) hub.close(Exit.void)
    this.hubs.set(method, hub)
    return hub
  }

  /** Returns true if one of the method's streams receives the notification. */
  publish(method: string, params: JsonObject): boolean {
    const hub = this.hubs.get(method)
    hub?.publish(params)
    return (hub?.listeners ?? 0) > 0
  }

  close(): void {
    this.isClosed = true
    for (const hub of [...this.hubs.values(), this.others]) hub.close(Exit.void)
  }
}

/** Starts a fiber for each extension that handles notifications. */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Extensions, never, Scope.Scope> {
  yield* InUse.check(options.parts)
  const { connection } = options
  const inbox = yield* Notifications.make(options)
  const notified = new Notified()
  const calls: ExtensionCalls = {
    request: (request, params, callOptions) => send(options, request, params, callOptions),
    notify: (notification, params) =>
      Effect.andThen(
        declared(options, notification),
        Effect.flatMap(encoded(notification.method, notification.params.encode(params)), (wire) =>
          connection().notify(notification.method, wire)
        )
      ),
    notifications: (notification) => {
      const wires = Stream.suspend(() => notified.of(notification.method).stream(capacity))
      return Stream.unwrap(Effect.as(declared(options, notification), inbox.decoded(notification, wires)))
    },
    listen: (subscription, filter, notification) =>
      Stream.unwrap(
        Effect.as(
          declared(options, { extension: subscription.extension, method: subscription.key }),
          Notifications.listen(options, subscription, filter, notification)
        )
      ),
    serverSettings: (extension) => Effect.suspend(() => serverSettings(connection(), extension)),
    raw: {
      request: (method, params = {}, { questions, readOnly = false, ...callOptions } = {}) =>
        connection().send(method, params, {
          ...optionsOf({ nameParam: nameParamOf(options, method) }, params, callOptions, connection().headers),
          readOnly,
          answered: questions !== "returned",
          followed: false
        }),
      notify: (method, params) => connection().notify(method, params),
      listen: (filter) => Notifications.listenRaw(options, filter),
      notifications: notified.others.stream(capacity)
    }
  }
  const exchange: Extensions["exchange"] = (method, params, options) => ({
    ...calls,
    method,
    params,
    options,
    revision: connection().revision,
    answer: (inputRequests) => connection().answer(method, inputRequests)
  })
  return {
    calls,
    received: (notification, inUse, relatedTo) => {
      const { method, params = {} } = notification
      const isStreamed = notified.publish(method, params)
      const owner = inUse?.ownerOf(method)
      if (owner !== undefined) inbox.handle(owner, notification)
      if (owner !== undefined || isStreamed) return true
      if (notified.others.listeners === 0) return false
      notified.others.publish({ method, params, relatedTo })
      return true
    },
    close: () => notified.close(),
    exchange,
    follow: ({ ended, handler, method, options, params, result }) =>
      Effect.ensuring(
        Effect.suspend(() => handler.follow(result, exchange(method, params, options))),
        Effect.sync(ended)
      )
  }
})

const declared = (
  { connection, declares }: Options,
  part: { readonly extension: Extension.Identity | undefined; readonly method: string },
  revisions?: Extension.RequestInfo["revisions"]
): Effect.Effect<void, CapabilityMissing> =>
  Effect.suspend(() => InUse.checkDeclared(part, revisions, declares, connection()))

/** Encodes a request's params, or fails before anything is sent. */
const encoded = (
  method: string,
  encoding: Effect.Effect<unknown, InvalidValue>
): Effect.Effect<JsonObject, McpError.McpError> =>
  Effect.flatMap(
    Effect.mapError(encoding, ({ message }) =>
      McpError.invalidParams(`The params of ${method} do not match its schema: ${message}`)
    ),
    (wire) =>
      isJsonObject(wire)
        ? Effect.succeed(wire)
        : Effect.fail(McpError.invalidParams(`The params of ${method} must be an object`))
  )

const noop = (): void => {}

/** Returns the param that holds the requested item's name, if one of the client's extensions defines the method. */
const nameParamOf = ({ connection, parts }: Options, method: string): string | undefined => {
  const { revision } = connection()
  const inUse = parts.filter(({ extension }) => Extension.isIn(extension, revision))
  const requests = inUse.flatMap(({ extension }) =>
    Object.values<Extension.Any["requests"][string]>(extension.requests)
  )
  return requests.find((request) => request.method === method && Extension.hasMethod(request, revision))?.nameParam
}

/** Options for an extension request. If the transport has headers, the requested item's name is also sent as a header. */
const optionsOf = (
  { longRunning, nameParam }: Extension.RequestInfo,
  params: JsonObject,
  options: CallOptions,
  headers: boolean
): CallOptions => {
  const watched = longRunning === true && options.timeout !== Duration.infinity
  const name = headers && nameParam !== undefined && Object.hasOwn(params, nameParam) ? params[nameParam] : undefined
  return {
    ...options,
    onProgress: options.onProgress ?? (watched ? noop : undefined),
    headers: typeof name === "string" ? { ...options.headers, [Headers.name]: Headers.encode(name) } : options.headers
  }
}

const send = <P, A, F>(
  options: Options,
  request: Extension.Request<P, A, F, "client">,
  params: P,
  callOptions: CallOptions = {}
): Effect.Effect<A, F | ClientError> => {
  const { method, readOnly = false, revisions } = request
  return Effect.andThen(
    declared(options, request, revisions),
    Effect.flatMap(encoded(method, request.params.encode(params)), (wire) => {
      const connection = options.connection()
      const sent = connection.send(method, wire, {
        ...optionsOf(request, wire, callOptions, connection.headers),
        readOnly,
        answered: true,
        followed: true
      })
      return Effect.matchEffect(sent, {
        onFailure: (error): Effect.Effect<never, F | ClientError> =>
          error._tag === "McpError" ? Effect.flatMap(failureOf(request, error), Effect.fail) : Effect.fail(error),
        onSuccess: (result) => resultOf(request, result, connection)
      })
    })
  )
}

const invalid = (method: string, message: string, result: unknown): InvalidResult =>
  new InvalidResult({ method, message, result })

/** Returns the method's declared failure, or the error unchanged. */
const failureOf = <F>(
  { failure, failureCode, method }: Pick<Extension.Request<never, never, F>, "failure" | "failureCode" | "method">,
  error: McpError.McpError
): Effect.Effect<F | McpError.McpError, InvalidResult> => {
  const { code, data } = error
  if (failure === undefined || code !== failureCode || !isJsonObject(data)) return Effect.succeed(error)
  if (!Object.hasOwn(data, Extension.failureKey)) return Effect.succeed(error)
  return Effect.mapError(failure.decode(data[Extension.failureKey]), ({ message }) =>
    invalid(method, `The failure of ${method} does not match its schema: ${message}`, data)
  )
}

const resultOf = <A>(
  { method, result: codec }: Pick<Extension.Request<never, A, never>, "method" | "result">,
  result: unknown,
  { revision }: ReconnectingConnection
): Effect.Effect<A, InvalidResult> => {
  const stateless = revision.era === "stateless"
  const type = ResultType.of(result)
  if (stateless && type !== "complete") {
    return Effect.fail(invalid(method, `${excerpt(JSON.stringify(type))} is not a known result type`, result))
  }
  return Effect.mapError(codec.decode(stateless ? ResultType.unmarked(result) : result), ({ message }) =>
    invalid(method, `The server sent an invalid response to ${method}: ${message}`, result)
  )
}

const serverSettings = <SS>(
  { revision, serverCapabilities }: ReconnectingConnection,
  extension: Extension.Identity & { readonly serverSettings: ValueCodec<SS> }
): Effect.Effect<Option.Option<SS>, InvalidResult> => {
  const settings = Extension.settingsIn(extension, revision, serverCapabilities)
  if (settings === undefined) return Effect.succeed(Option.none())
  return Effect.mapBoth(extension.serverSettings.decode(settings), {
    onFailure: ({ message }) =>
      invalid(
        revision.era === "stateless" ? "server/discover" : "initialize",
        `The server's settings for ${extension.id} do not match their schema: ${message}`,
        settings
      ),
    onSuccess: Option.some
  })
}
