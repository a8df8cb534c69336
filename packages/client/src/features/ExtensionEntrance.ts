/**
 * The members of a client for extensions and for methods that no value describes, of which the first that is used loads the rest
 * (`Extensions`). With layers of extensions all of it is there from the start.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"
import type { ExtensionCalls, RawNotification } from "../extension/ExtensionCalls.ts"
import type { InUse } from "../extension/InUse.ts"
import type { OtherResult } from "../extension/OtherResult.ts"
import { Hub } from "../internal/Hub.ts"
import { type Late, withParts } from "../internal/Late.ts"
import type * as Extensions from "./Extensions.ts"

export interface Options extends Omit<Extensions.Options, "others"> {
  /** The scope of the client. */
  readonly scope: Scope.Scope
  readonly late: Late<{ readonly makeExtensions: typeof Extensions.make }>
}

/** Notifications that wait for a slow reader at most. */
const capacity = 256

export class ExtensionEntrance {
  private readonly options: Options
  private readonly others = new Hub<RawNotification>()
  private isClosed = false
  private made: Extensions.Extensions | undefined

  constructor(options: Options) {
    this.options = options
  }

  readonly all: Effect.Effect<Extensions.Extensions> = Effect.suspend(() =>
    this.made === undefined ? withParts(this.options.late, (parts) => this.make(parts)) : Effect.succeed(this.made)
  )

  private make({
    makeExtensions
  }: {
    readonly makeExtensions: typeof Extensions.make
  }): Effect.Effect<Extensions.Extensions> {
    const making = makeExtensions({ ...this.options, others: this.others.stream(capacity) })
    return Effect.map(Scope.provide(making, this.options.scope), (made) => {
      const all = (this.made ??= made)
      if (this.isClosed) all.close()
      return all
    })
  }

  private stream<A, E>(streamOf: (calls: ExtensionCalls) => Stream.Stream<A, E>): Stream.Stream<A, E> {
    return Stream.unwrap(Effect.map(this.all, ({ calls }) => streamOf(calls)))
  }

  private effect<A, E>(effectOf: (calls: ExtensionCalls) => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.flatMap(this.all, ({ calls }) => effectOf(calls))
  }

  readonly calls: ExtensionCalls = {
    request: (request, params, options) => this.effect((calls) => calls.request(request, params, options)),
    notify: (notification, params) => this.effect((calls) => calls.notify(notification, params)),
    notifications: (notification) => this.stream((calls) => calls.notifications(notification)),
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
    if (this.made?.received(notification, inUse) === true) return true
    if (this.others.listeners === 0) return false
    const { method, params = {} } = notification
    this.others.publish({ method, params, relatedTo })
    return true
  }

  /** Gives the final result where a result is of another kind. */
  readonly follow = (other: OtherResult): Effect.Effect<unknown, ClientError> =>
    Effect.flatMap(this.all, ({ follow }) => follow(other))

  /** Ends every stream of notifications. */
  close(): void {
    this.isClosed = true
    this.others.close(Exit.void)
    this.made?.close()
  }
}
