/** A request of either side and its response. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** The content of a response. */
export type ResponseContent =
  | { readonly _tag: "Result"; readonly result: unknown }
  | { readonly _tag: "Error"; readonly code: number; readonly message: string; readonly data: unknown }

/** A request of the client, and what became of it. */
export interface ObservedExchange {
  /** As sent: any JSON. */
  readonly id: unknown
  readonly method: string
  /** As sent: any JSON; undefined where absent. */
  readonly params: unknown
  /** Whether it is a valid JSON-RPC request by the rules of MCP. Another one may be answered by an error without its id. */
  readonly wellFormed: boolean
  /** Whether the conversation was open when it was sent: `initialize` answered, or in 2026-07-28 always. */
  readonly open: boolean
  /** The client's declaration that is valid for it. */
  readonly declares: JsonObject
  readonly token: string | number | undefined
  /** The terminal status of the task that it asks about, where the server had told it before. */
  readonly taskEnded: string | undefined
  /** The place in the script of the command that sent it. */
  readonly command: number
  /** Whether no other request has been open at the same time so far: what it sees is not in the middle of a change. */
  alone: boolean
  answer: ResponseContent | undefined
  cancelled: boolean
  /** Whether it was sent in a batch (2025-03-26). */
  readonly inBatch: boolean
  /** Whether HTTP refused it without a response of its own. */
  refused: boolean
  /** The newest progress that was reported. */
  progress: number | undefined
  /** How many more requests were sent with its id while it was open. */
  copies: number
  /** Whether it is such a request: its answer counts as another one to the first of them. */
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

/** Whether it is answered, with its id or without, or is a subscription that was given up. The first request answers for its copies. */
export const isSettled = ({ acknowledged, answer, cancelled, copies, isCopy, wellFormed }: ObservedExchange): boolean =>
  copies === 0 && (isCopy || answer !== undefined || (cancelled && (acknowledged || !wellFormed)))

/** Whether it has no answer, and may get one: also where it was given up. */
export const mayBeAnswered = ({ answer, refused }: ObservedExchange): boolean => answer === undefined && !refused

/** Whether it is neither answered nor given up. */
export const isOpen = ({ answer, cancelled, refused }: ObservedExchange): boolean =>
  answer === undefined && !cancelled && !refused

/** Whether the client still waits for its answer. A subscription is answered when it ends, and acknowledged before. */
export const isWaiting = (exchange: ObservedExchange): boolean =>
  isOpen(exchange) &&
  !exchange.acknowledged &&
  (exchange.wellFormed || (exchange.method !== "" && JsonRpc.isId(exchange.id)))

/** Whether it is a subscription that is open. */
export const isSubscribed = (exchange: ObservedExchange): boolean => exchange.acknowledged && isOpen(exchange)
