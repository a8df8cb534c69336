/** A request of either side and its response. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** The content of a response. */
export type ResponseContent =
  | { readonly _tag: "Result"; readonly result: unknown }
  | { readonly _tag: "Error"; readonly code: number; readonly message: string; readonly data: unknown }

/** A request of the client, with its outcome. */
export interface ObservedExchange {
  /** The id that was sent, which can be any JSON. */
  readonly id: unknown
  readonly method: string
  /** The params that were sent, which can be any JSON, or `undefined` if absent. */
  readonly params: unknown
  /** True if it is a valid JSON-RPC request by the rules of MCP. The error for an invalid one may lack the id. */
  readonly wellFormed: boolean
  /** True if the request was sent after the answer to `initialize`. Always true in 2026-07-28. */
  readonly open: boolean
  /** The client's declaration that applies to the request. */
  readonly declares: JsonObject
  readonly token: string | number | undefined
  /** Terminal status of the task that the request asks about, if the server had already reported it. */
  readonly taskEnded: string | undefined
  /** Index of the script command that sent the request. */
  readonly command: number
  /** True if no other request was open at the same time, so the handler saw no unfinished changes. */
  alone: boolean
  answer: ResponseContent | undefined
  cancelled: boolean
  /** True if it was sent in a batch (2025-03-26). */
  readonly inBatch: boolean
  /** True if HTTP rejected it without a JSON-RPC response. */
  refused: boolean
  /** The last reported progress. */
  progress: number | undefined
  /** Number of further requests that were sent with the same id while this one was open. */
  copies: number
  /** True if it repeats an earlier id. Its answer counts as another answer to the first request. */
  isCopy: boolean
  /** 2026-07-28: whether a `subscriptions/listen` was acknowledged. */
  acknowledged: boolean
}

/** A request of the server. */
export interface ServerQuestion {
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
}

/** True if the request was answered, with or without an id, or is a cancelled subscription. Copies are settled with the first request. */
export const isSettled = ({ acknowledged, answer, cancelled, copies, isCopy, wellFormed }: ObservedExchange): boolean =>
  copies === 0 && (isCopy || answer !== undefined || (cancelled && (acknowledged || !wellFormed)))

/** True if an answer may still arrive, even after a cancellation. */
export const mayBeAnswered = ({ answer, refused }: ObservedExchange): boolean => answer === undefined && !refused

/** True until the request is answered or cancelled. */
export const isOpen = ({ answer, cancelled, refused }: ObservedExchange): boolean =>
  answer === undefined && !cancelled && !refused

/** True while the client waits for an answer. For a subscription, it only waits for the acknowledgement. */
export const isWaiting = (exchange: ObservedExchange): boolean =>
  isOpen(exchange) &&
  !exchange.acknowledged &&
  (exchange.wellFormed || (exchange.method !== "" && JsonRpc.isId(exchange.id)))

/** True for an open subscription. */
export const isSubscribed = (exchange: ObservedExchange): boolean => exchange.acknowledged && isOpen(exchange)
