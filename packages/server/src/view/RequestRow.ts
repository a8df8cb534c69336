/** A row in a server's view: what operators see about a request, subscription, question or task. */
import type { Principal } from "@effect-mcp/core/Principal"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Reported } from "../request/TaskSource.ts"

/**
 * A request, subscription, question or task. Contains no arguments, headers or tokens. Text from clients is truncated to 200 characters;
 * `excerpt` makes it safe to print in a terminal.
 */
export interface RequestRow {
  /** Identifies the row on this server. It is never reused for another row, even if a client reuses an ID. */
  readonly key: string
  /**
   * A `question` is asked by the server and answered by the client. A `subscription` runs until it is ended. A `task` continues after its
   * request has been answered; its key is the same on all nodes that share its store.
   */
  readonly kind: "request" | "subscription" | "question" | "task"
  /**
   * JSON-RPC ID, unique within its session and direction, or `undefined` for a session's resource subscription. If an anonymous caller's
   * task is shown, anyone who knows its ID can use the task, so don't show the ID to others.
   */
  readonly id: JsonRpc.Id | undefined
  readonly method: string
  /** Tool or prompt name, or resource URI. */
  readonly target: string | undefined
  /**
   * `pending` means it is waiting until fewer requests are running. `asking` means its handler is waiting for the client's answers.
   * `sleeping` means a task is waiting until a certain time. `ending` means it was cancelled or interrupted, but its handler or finalizers
   * are still running.
   */
  readonly state: "running" | "pending" | "asking" | "sleeping" | "ending"
  /** When it started running or waiting, or when a task was created, in milliseconds since the epoch. */
  readonly since: number
  /** Methods of the questions it is waiting on. */
  readonly asking: ReadonlyArray<string>
  /**
   * Number of questions it has asked. In 2026-07-28, where each answer arrives in a new request, it counts the questions in earlier rounds.
   */
  readonly asked: number
  /** When a task's sleep ends, in milliseconds since the epoch. */
  readonly wakesAt: number | undefined
  /**
   * The last progress that was sent, or `undefined` if the client didn't ask for any. For a task, the last progress reported by its
   * handler.
   */
  readonly progress: { readonly progress: number; readonly total?: number; readonly message?: string } | undefined
  /** For a question, the key of the request that asked it. */
  readonly relatedTo: string | undefined
  /** The caller as identified by the transport. Both fields are `undefined` if anonymous. */
  readonly principal: { readonly subject: string | undefined; readonly issuer: string | undefined }
  /**
   * Session ID, or `undefined` for a POST without a session. Over HTTP, the ID grants anonymous callers access to the session, so don't
   * show it to others.
   */
  readonly session: string | undefined
  /** Client name and version, as reported by the client. */
  readonly client: { readonly name: string; readonly version: string } | undefined
  /** Protocol version, or `undefined` until it is negotiated. */
  readonly revision: string | undefined
  /** `http`, `sse`, `socket`, `stdio`, or the `kind` passed to `connect` or `dispatch`. */
  readonly transport: string | undefined
}

export const principalOf = ({ claims, subject }: Principal["Service"]): RequestRow["principal"] => {
  const issuer = claims["iss"]
  return { subject, issuer: typeof issuer === "string" ? issuer : undefined }
}

export const clientOf = (info: unknown): RequestRow["client"] =>
  isJsonObject(info) && typeof info.name === "string" && typeof info.version === "string"
    ? { name: beginning(info.name), version: beginning(info.version) }
    : undefined

export const progressOf = (sent: Reported | undefined): RequestRow["progress"] => {
  if (sent === undefined) return undefined
  const { message, progress, total } = sent
  return {
    progress,
    ...(total === undefined ? undefined : { total }),
    ...(message === undefined ? undefined : { message: beginning(message) })
  }
}
