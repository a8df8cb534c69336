/** Subscriptions as programs see them (2026-07-28: basic/patterns/subscriptions). */

export interface SubscriptionFilter {
  toolsListChanged?: boolean | undefined
  promptsListChanged?: boolean | undefined
  resourcesListChanged?: boolean | undefined
  /** URIs. */
  resourceSubscriptions?: Array<string> | undefined
  [key: string]: unknown
}

/** A subscription that the server has agreed to. */
export interface McpSubscription {
  /** What the server announces, of what was asked for. */
  readonly honoredFilter: SubscriptionFilter
  close(): Promise<void>
}
