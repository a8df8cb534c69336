/** Subscriptions as programs use them (2026-07-28: basic/patterns/subscriptions). */

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
  /** The part of the filter that the server agreed to. */
  readonly honoredFilter: SubscriptionFilter
  close(): Promise<void>
}
