/**
 * The members of a client for extensions and for methods that no value describes, of which the first that is used loads the rest
 * (`Extensions`). With layers of extensions all of it is there from the start.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"
import type { ExtensionCalls, RawNotification } from "../extension/ExtensionCalls.ts"
import type { InUse } from "../extension/InUse.ts"
import type { OtherResult } from "../extension/OtherResult.ts"
import { Hub } from "../internal/Hub.ts"
import { type Late, type NotLoaded, withParts } from "../internal/Late.ts"
import type * as Extensions from "./Extensions.ts"

export interface Options extends Omit<Extensions.Options, "notifications" | "others"> {
  /** The scope of the client. */
  readonly scope: Scope.Scope
  readonly late: Late<{ readonly makeExtensions: typeof Extensions.make }>
}

/** Notifications that wait for a slow reader at most. */
const capacity = 256

export class ExtensionEntrance {
  private readonly options: Options
  private readonly others = new Hub<RawNotification>()
  /** By method, so that many of one method displace none of another. */
  private readonly hubs = new Map<string, Hub<JsonObject>>()
  private isClosed = false
  private made: Extensions.Extensions | undefined

  constructor(options: Options) {
    this.options = options
  }

  readonly all: Effect.Effect<Extensions.Extensions, NotLoaded> = Effect.suspend(() =>
    this.made === undefined ? withParts(this.options.late, (parts) => this.make(parts)) : Effect.succeed(this.made)
  )

  private make({
    makeExtensions
  }: {
    readonly makeExtensions: typeof Extensions.make
  }): Effect.Effect<Extensions.Extensions> {
    // Another request may have made them while both waited for the parts.
    if (this.made !== undefined) return Effect.succeed(this.made)
    const { notifications, raw } = this.calls
    const making = makeExtensions({ ...this.options, notifications, others: raw.notifications })
    return Effect.map(Scope.provide(making, this.options.scope), (made) => (this.made = made))
  }

  private hubOf(method: string): Hub<JsonObject> {
    const hub = this.hubs.get(method) ?? new Hub<JsonObject>()
    if (this.isClosed) hub.close(Exit.void)
    this.hubs.set(method, hub)
    return hub
  }

  private stream<A, E>(streamOf: (calls: ExtensionCalls) => Stream.Stream<A, E>): Stream.Stream<A, E | NotLoaded> {
    return Stream.unwrap(Effect.map(this.all, ({ calls }) => streamOf(calls)))
  }

  private effect<A, E>(effectOf: (calls: ExtensionCalls) => Effect.Effect<A, E>): Effect.Effect<A, E | NotLoaded> {
    return Effect.flatMap(this.all, ({ calls }) => effectOf(calls))
  }

  readonly calls: ExtensionCalls = {
    request: (request, params, options) => this.effect((calls) => calls.request(request, params, options)),
    notify: (notification, params) => this.effect((calls) => calls.notify(notification, params)),
    // Those that arrive while the rest is loaded wait for it.
    notifications: (notification) =>
      Stream.unwrap(
        Effect.flatMap(
          Effect.suspend(() => this.hubOf(notification.method).subscribe(capacity)),
          (queue) => Effect.map(this.all, ({ notified }) => notified(notification, Stream.fromQueue(queue)))
        )
      ),
    listen: (subscription, filter, notification) =>
      this.stream((calls) => calls.listen(subscription, filter, notification)),
    serverSettings: (extension) => this.effect((calls) => calls.serverSettings(extension)),
    raw: {
      request: (method, params, options) => this.effect(({ raw }) => raw.request(method, params, options)),
      notify: (method, params) => this.effect(({ raw }) => raw.notify(method, params)),
      listen: (filter) => this.stream(({ raw }) => raw.listen(filter)),
      notifications: this.others.stream(capacity)
    }
  }

  /** Takes a notification that the revision does not know; called in the reader. False where nothing wants it. */
  received(notification: JsonRpc.Notification, inUse: InUse | undefined, relatedTo: JsonRpc.Id | undefined): boolean {
    const { method, params = {} } = notification
    const hub = this.hubs.get(method)
    hub?.publish(params)
    const owner = inUse?.ownerOf(method)
    if (owner !== undefined) this.made?.handle(owner, notification)
    if (owner !== undefined || (hub?.listeners ?? 0) > 0) return true
    if (this.others.listeners === 0) return false
    this.others.publish({ method, params, relatedTo })
    return true
  }

  /** Gives the final result where a result is of another kind. */
  readonly follow = (other: OtherResult): Effect.Effect<unknown, ClientError> =>
    Effect.flatMap(this.all, ({ follow }) => follow(other))

  /** Ends every stream of notifications. */
  close(): void {
    this.isClosed = true
    for (const hub of [...this.hubs.values(), this.others]) hub.close(Exit.void)
  }
}
