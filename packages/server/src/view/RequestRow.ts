/** A row of the view of a server: what operators see of a request, a subscription, a question or a task. */
import type { Principal } from "@effect-mcp/core/Principal"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Reported } from "../request/TaskSource.ts"

/**
 * One request, subscription, question or task. It has no arguments, headers or tokens. Texts of clients are cut at 200 characters; `excerpt`
 * makes them fit for a terminal.
 */
export interface RequestRow {
  /** Names the row at this server: never that of another one, also when a client uses an id again. */
  readonly key: string
  /**
   * `question`: the server asks, the client answers. `subscription`: runs until it is ended. `task`: runs on after its request was answered;
   * its key is the same at all nodes that share its store.
   */
  readonly kind: "request" | "subscription" | "question" | "task"
  /**
   * The id on the wire, unique within its session and direction; undefined for a resource subscription of a session. That of a task of an
   * anonymous caller is the right to use it: do not show it to others.
   */
  readonly id: JsonRpc.Id | undefined
  readonly method: string
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly target: string | undefined
  /**
   * `pending`: it waits until fewer run. `asking`: its handler waits for answers of the client. `sleeping`: a task waits for a time.
   * `ending`: it was cancelled or interrupted, and its handler or finalizers still run.
   */
  readonly state: "running" | "pending" | "asking" | "sleeping" | "ending"
  /** When it began to run or to wait, or when a task was created, in milliseconds since the epoch. */
  readonly since: number
  /** The methods of the questions that it waits for. */
  readonly asking: ReadonlyArray<string>
  /** How many questions it has asked; in 2026-07-28, where each answer comes with a request of its own, those of earlier rounds. */
  readonly asked: number
  /** When the sleep of a task ends, in milliseconds since the epoch. */
  readonly wakesAt: number | undefined
  /** The last progress that was sent; undefined where the client wants none. Of a task, the last that its handler reported. */
  readonly progress: { readonly progress: number; readonly total?: number; readonly message?: string } | undefined
  /** For a question: the key of the request that asks. */
  readonly relatedTo: string | undefined
  /** The caller as the transport knows it; both undefined for an anonymous one. */
  readonly principal: { readonly subject: string | undefined; readonly issuer: string | undefined }
  /** The id of the session; undefined for a POST without one. Over HTTP it admits anonymous callers: do not show it to others. */
  readonly session: string | undefined
  /** What the client says of itself. */
  readonly client: { readonly name: string; readonly version: string } | undefined
  /** The version of the protocol; undefined before it is agreed on. */
  readonly revision: string | undefined
  /** `http`, `sse`, `socket`, `stdio`, or the `kind` that `connect` or `dispatch` was given. */
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
