/** Translates between this package's errors and internal ones, and decides which part of a thrown value the other side may see. */
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

/** Returns `ask()`, or `otherwise` if it throws: a thrown value may be a proxy or have throwing getters. */
const safely = <A>(ask: () => A, otherwise: A): A => {
  try {
    return ask()
  } catch {
    return otherwise
  }
}

const isReason = (tag: unknown): tag is Reason => typeof tag === "string" && reasons.has(tag)

/** Returns the error's message, or for a failed login the advice that fits this package. */
const advised = (error: Error): string =>
  "_tag" in error && error._tag === "Unauthorized" && "refusal" in error && !error.cause
    ? `${String(error.refusal)} Pass a token: McpClient.connect({ url, headers: { authorization: "Bearer TOKEN" } }).`
    : error.message

/** Converts an internal error to the public one. Returns any other value unchanged. */
export const toPublic = (error: unknown): unknown => {
  if (error instanceof Wire.McpError) return new McpError(error.code, error.message, error.data)
  if (!(error instanceof Error) || !("_tag" in error) || !isReason(error._tag)) return error
  return new RequestError(error._tag, advised(error))
}

/** A question that the client cannot answer. If the handler does not catch the error, the revision decides the response. */
class Unanswerable extends RequestError {
  readonly #missing: CapabilityMissing

  constructor({ message, reason }: RequestError, missing: CapabilityMissing) {
    super(reason, message)
    this.#missing = missing
  }

  static missing(error: Unanswerable): CapabilityMissing {
    return error.#missing
  }
}

/** Like `toPublic`, for an error of a handler's question. */
export const ofQuestion = (error: unknown): unknown => {
  const made = toPublic(error)
  return made instanceof RequestError && error instanceof CapabilityMissing ? new Unanswerable(made, error) : made
}

/** Returns the internal error behind `thrown` if the client lacked a capability, or `undefined` otherwise. */
export const missingCapability = (thrown: unknown): CapabilityMissing | undefined =>
  safely(() => (thrown instanceof Unanswerable ? Unanswerable.missing(thrown) : undefined), undefined)

/** Converts the error to its wire form. */
export const toWire = ({ code, data, message }: McpError): Wire.McpError =>
  new Wire.McpError(data === undefined ? { code, message } : { code, message, data })

/** Returns the text to send for a thrown value: an error's message, or a thrown string. Never a stack, a cause or a class name. */
export const messageOf = (thrown: unknown): string => {
  const message = safely(() => (thrown instanceof Error ? thrown.message : thrown), undefined)
  return typeof message === "string" && message !== "" ? message : "The handler failed without a message"
}

/** Converts a thrown `McpError` to its wire form. Returns `undefined` for any other value. */
export const wireOf = (thrown: unknown): Wire.McpError | undefined =>
  safely(() => (thrown instanceof McpError ? toWire(thrown) : undefined), undefined)
