/** A client's handlers for questions and notifications, by method. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { JsonObject } from "../model/types.ts"
import { errorOf, notify } from "../model/report.ts"
import { checked } from "../schema/resultOf.ts"
import { isOwn, methodOf, type RequestSchema } from "../server/methods.ts"

/** The second argument of a handler that answers a question. */
export interface ClientContext {
  /** Aborts when the server cancels its question, or when the client closes. */
  signal: AbortSignal
  mcpReq: { signal: AbortSignal; method: string }
}

/** A message in wire form. */
interface Message {
  method: string
  params: JsonObject
}

/** A handler for one method. It only receives that method's messages. */
export type AnyHandler = (message: never, context: ClientContext) => unknown
/** Handles notifications for any method. */
export type NotificationHandler = (notification: Message) => unknown

const unfit = (method: string) => (issues: string) => new TypeError(`Invalid params for ${method}: ${issues}`)

/** Returns a function that calls a handler. If the handler was set with a schema, it is called only with messages that match the schema. */
const calling =
  (method: string | RequestSchema, handler: AnyHandler) =>
  (message: Message, context: ClientContext): unknown => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the message is of the method, or fits the schema
    const call = (message: unknown) => handler(message as never, context)
    return isOwn(method) ? call(message) : checked(method, message, unfit(message.method)).then(call)
  }

/** For notification handlers, which receive no context. */
const none: ClientContext = { signal: AbortSignal.abort(), mcpReq: { signal: AbortSignal.abort(), method: "" } }

export class Handlers {
  readonly questions = new Map<string, (message: Message, context: ClientContext) => unknown>()
  readonly notifications = new Map<string, NotificationHandler>()
  fallback: NotificationHandler | undefined = undefined
  readonly #failed: (error: Error) => void

  constructor(failed: (error: Error) => void) {
    this.#failed = failed
  }

  answer(method: string | RequestSchema, handler: AnyHandler): void {
    this.questions.set(methodOf(method), calling(method, handler))
  }

  /** Adds a handler for notifications. It receives the whole message, or the params that a schema decodes. */
  hear(
    method: string | RequestSchema,
    first: AnyHandler | { readonly params: StandardSchemaV1 },
    second?: (params: unknown) => unknown
  ): void {
    const name = methodOf(method)
    if (typeof first === "function") {
      const call = calling(method, first)
      this.notifications.set(name, (notification) => call(notification, none))
      return
    }
    const { params } = first
    this.notifications.set(name, async (notification) =>
      second?.(await checked(params, notification.params, unfit(name)))
    )
  }

  /** Calls a notification's handler. */
  notified(method: string, params: object | undefined): void {
    const handler = this.notifications.get(method) ?? this.fallback
    if (handler === undefined) return
    const given: JsonObject = { ...params }
    // Called immediately, so that notifications are handled before the answer that follows them.
    notify(
      () => handler({ method, params: given }),
      (error) => this.#failed(errorOf(error))
    )
  }
}
