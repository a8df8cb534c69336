/**
 * All methods by name, with the canonical types of their params and results. Derived from `MethodInfo`.
 *
 * These are type aliases because interfaces would not satisfy the index signatures of `Requests` and `Notifications`.
 */
import type * as MethodInfo from "./MethodInfo.ts"

export interface RequestShape<P, R> {
  readonly params: P
  readonly result: R
}
export interface Requests {
  readonly [method: string]: RequestShape<unknown, unknown>
}
export interface Notifications {
  readonly [method: string]: unknown
}

type RequestsOf<Rows extends Record<string, MethodInfo.RequestSchemas>> = {
  readonly [M in keyof Rows]: RequestShape<Rows[M]["params"]["Type"], Rows[M]["result"]["Type"]>
}
type NotificationsOf<Rows extends Record<string, Pick<MethodInfo.ClientNotificationInfo, "params">>> = {
  readonly [M in keyof Rows]: Rows[M]["params"]["Type"]
}

/** Requests a client can send to a server. */
export type ClientRequests = RequestsOf<typeof MethodInfo.clientRequests>
/** Requests a server can send to a client. */
export type ServerRequests = RequestsOf<typeof MethodInfo.serverRequests>
/** Notifications a client can send to a server. */
export type ClientNotifications = NotificationsOf<typeof MethodInfo.clientNotifications>
/** Notifications a server can send to a client. */
export type ServerNotifications = NotificationsOf<typeof MethodInfo.serverNotifications>
