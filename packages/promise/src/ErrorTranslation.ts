/** The errors of programs from and to those of the layers below, and what of a thrown value may be sent. */
import { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import * as Wire from "@effect-mcp/protocol/McpError"
import { McpError, type Reason, RequestError } from "./Errors.ts"

const reasons = new Set<string>([
  "CapabilityMissing",
  "Closed",
  "Declined",
  "Forbidden",
  "InvalidResult",
  "TaskCancelled",
  "Timeout",
  "TransportError",
  "Unauthorized",
  "UnsupportedRevision"
] satisfies ReadonlyArray<Reason>)

/** Asks a value that may be a proxy or have getters that throw: `otherwise` if it throws. */
const safely = <A>(ask: () => A, otherwise: A): A => {
  try {
    return ask()
  } catch {
    return otherwise
  }
}

const isReason = (tag: unknown): tag is Reason => typeof tag === "string" && reasons.has(tag)

/** The message, with the advice of this package for a login. */
const advised = (error: Error): string =>
  "_tag" in error && error._tag === "Unauthorized" && "refusal" in error && !error.cause
    ? `${String(error.refusal)} Give a token: McpClient.connect({ url, headers: { authorization: "Bearer TOKEN" } }).`
    : error.message

/** The public error of an error of the layers below; other values stay as they are. */
export const toPublic = (error: unknown): unknown => {
  if (error instanceof Wire.McpError) return new McpError(error.code, error.message, error.data)
  if (!(error instanceof Error) || !("_tag" in error) || !isReason(error._tag)) return error
  return new RequestError(error._tag, advised(error))
}

/** The errors of questions that a client cannot answer: uncaught ones are answered as the revision has it. */
const unanswerable = new WeakMap<RequestError, CapabilityMissing>()

/** `toPublic` of the error of a handler's question. */
export const ofQuestion = (error: unknown): unknown => {
  const made = toPublic(error)
  if (made instanceof RequestError && error instanceof CapabilityMissing) unanswerable.set(made, error)
  return made
}

/** What `ofQuestion` made the error of, where the client lacks a capability. */
export const missingCapability = (thrown: unknown): CapabilityMissing | undefined =>
  safely(() => (thrown instanceof RequestError ? unanswerable.get(thrown) : undefined), undefined)

/** The error on the wire. */
export const toWire = ({ code, data, message }: McpError): Wire.McpError =>
  new Wire.McpError(data === undefined ? { code, message } : { code, message, data })

/** What the other side learns of a thrown value: the message of an error, or a text. Never a stack, a cause or a class. */
export const messageOf = (thrown: unknown): string => {
  const message = safely(() => (thrown instanceof Error ? thrown.message : thrown), undefined)
  return typeof message === "string" && message !== "" ? message : "The handler failed without a message"
}

/** The error on the wire of a thrown `McpError`, or `undefined` for any other value. */
export const wireOf = (thrown: unknown): Wire.McpError | undefined =>
  safely(() => (thrown instanceof McpError ? toWire(thrown) : undefined), undefined)
