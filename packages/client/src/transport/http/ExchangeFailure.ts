/** The failure of a request over HTTP, and whether the server may have acted on the request. */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Predicate from "effect/Predicate"
import type { HttpFailure } from "./HttpSender.ts"

export interface ExchangeFailure {
  readonly error: TransportError
  /** True if the server has certainly not acted on the request. */
  readonly unsent: boolean
}

/**
 * Platform error codes for a connection that was never established, or a server with an invalid certificate. In both cases nothing was
 * sent.
 */
const unconnected = new RegExp(
  "^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket" +
    "|(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_).*)$"
)

/** Searches an error, its causes and its parts up to a maximum depth, because a chain may be long or circular. */
const neverConnected = (error: unknown, depth = 5): boolean => {
  if (depth === 0 || !Predicate.isObject(error)) return false
  const { cause, code, errors, syscall }: { readonly [field in "cause" | "code" | "errors" | "syscall"]?: unknown } =
    error
  if (syscall === "connect" || syscall === "getaddrinfo") return true
  if ((typeof code === "string" && unconnected.test(code)) || neverConnected(cause, depth - 1)) return true
  return Array.isArray(errors) && errors.length > 0 && errors.every((one) => neverConnected(one, depth - 1))
}

/**
 * Returns the platform's reason. A name with several addresses, such as `localhost`, fails with one error per address, and the aggregate
 * error has no message.
 */
const reasonOf = (cause: unknown, otherwise: string): string => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  const first: unknown = inner instanceof AggregateError ? inner.errors[0] : inner
  return first instanceof Error ? first.message : otherwise
}

/** No response arrived. */
export const unreachable = (error: HttpFailure, { origin }: URL): ExchangeFailure => {
  const { _tag, cause } = error.reason
  const unsent = _tag !== "TransportError" || neverConnected(cause)
  const why = reasonOf(cause, error.message)
  return {
    unsent,
    error: new TransportError({
      reason: unsent ? "Open" : "Read",
      message: unsent ? `Cannot reach ${origin}: ${why}` : `The connection to ${origin} broke: ${why}`,
      cause: error
    })
  }
}

/** The server does not know the session, or has closed it (404). */
export const sessionLost = (unsent: boolean): ExchangeFailure => ({
  unsent,
  error: new TransportError({ reason: "SessionLost", status: 404, message: "The server has closed the session" })
})

/** The exchange ended without an answer. */
export const unanswered = (message: string): ExchangeFailure => ({
  unsent: false,
  error: new TransportError({ reason: "Read", message })
})

/** The response body could not be read to the end, or one of this request's headers cannot be sent. */
export const unread = (error: TransportError): ExchangeFailure => ({ error, unsent: false })
