/** The handlers of a client: of questions, and of notifications, by method. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { JsonObject, Notification, Request } from "../model/types.ts"

/** What an answer may use. */
export interface ClientContext {
  /** Aborts when the server takes its question back, or the client closes. */
  signal: AbortSignal
  mcpReq: { signal: AbortSignal; method: string }
}

// oxlint-disable-next-line typescript/no-explicit-any -- programs read the params of the method that they name
type AskedRequest = Omit<Request, "params"> & { params: any }
// oxlint-disable-next-line typescript/no-explicit-any -- programs read the params of the method that they name
type HeardNotification = Omit<Notification, "params"> & { params: any }

export type QuestionHandler = (request: AskedRequest, context: ClientContext) => unknown
export type NotificationHandler = (notification: HeardNotification) => unknown

export class Handlers {
  readonly questions = new Map<string, QuestionHandler>()
  readonly notifications = new Map<string, NotificationHandler>()
  fallback: NotificationHandler | undefined = undefined
  readonly #failed: (error: Error) => void

  constructor(failed: (error: Error) => void) {
    this.#failed = failed
  }

  /** Adds a handler of notifications: of the whole message, or of params that a schema reads. */
  hear(
    method: string,
    first: NotificationHandler | { readonly params: StandardSchemaV1 },
    second?: (params: unknown) => unknown
  ): void {
    if (typeof first === "function") return void this.notifications.set(method, first)
    const { params } = first
    this.notifications.set(method, async (notification) => {
      const result = await params["~standard"].validate(notification.params)
      if (result.issues === undefined) return second?.(result.value)
      throw new TypeError(
        `The params of ${method} do not fit: ${result.issues.map(({ message }) => message).join("; ")}`
      )
    })
  }

  /** Calls the handler of a notification. */
  notified(method: string, params: object | undefined): void {
    const handler = this.notifications.get(method) ?? this.fallback
    if (handler === undefined) return
    const given: JsonObject = { ...params }
    const failed = (error: unknown) => this.#failed(error instanceof Error ? error : new Error(String(error)))
    // Called at once: notifications are heard before the answer that follows them.
    try {
      const result = handler({ method, params: given })
      if (result instanceof Promise) result.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
