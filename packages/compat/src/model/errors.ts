/** The errors of the SDK. Protocol errors have a number as their code, local errors a word. */
import type { ClientCapabilities, ElicitRequestURLParams } from "./types.ts"

/** Error codes of JSON-RPC and MCP. */
export const ProtocolErrorCode = {
  ParseError: -32_700,
  InvalidRequest: -32_600,
  MethodNotFound: -32_601,
  InvalidParams: -32_602,
  InternalError: -32_603,
  ResourceNotFound: -32_002,
  MissingRequiredClientCapability: -32_021,
  UnsupportedProtocolVersion: -32_022,
  UrlElicitationRequired: -32_042
} as const

/** Error codes of v1, including the codes that v1 uses for local errors. */
export const ErrorCode = {
  ConnectionClosed: -32_000,
  RequestTimeout: -32_001,
  ParseError: -32_700,
  InvalidRequest: -32_600,
  MethodNotFound: -32_601,
  InvalidParams: -32_602,
  InternalError: -32_603,
  UrlElicitationRequired: -32_042
} as const

export const SdkErrorCode = {
  NotConnected: "NOT_CONNECTED",
  AlreadyConnected: "ALREADY_CONNECTED",
  CapabilityNotSupported: "CAPABILITY_NOT_SUPPORTED",
  RequestTimeout: "REQUEST_TIMEOUT",
  ConnectionClosed: "CONNECTION_CLOSED",
  SendFailed: "SEND_FAILED",
  InvalidResult: "INVALID_RESULT",
  MethodNotSupportedByProtocolVersion: "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
  EraNegotiationFailed: "ERA_NEGOTIATION_FAILED",
  ClientHttpAuthentication: "CLIENT_HTTP_AUTHENTICATION",
  ClientHttpForbidden: "CLIENT_HTTP_FORBIDDEN"
} as const
export type SdkErrorCode = (typeof SdkErrorCode)[keyof typeof SdkErrorCode]

class CodedError<Code> extends Error {
  readonly code: Code
  readonly data: unknown

  constructor(code: Code, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** A JSON-RPC error. If a handler throws it, the request is answered with it. */
export class ProtocolError extends CodedError<number> {
  override readonly name: string = "ProtocolError"

  /** Returns the error for a code, as an instance of the SDK's class for that code. */
  static fromError(code: number, message: string, data?: unknown): ProtocolError {
    if (!isObject(data)) return new ProtocolError(code, message, data)
    const { elicitations, requiredCapabilities, uri } = data
    if (code === ProtocolErrorCode.UrlElicitationRequired && Array.isArray(elicitations)) {
      return new UrlElicitationRequiredError(elicitations, message)
    }
    if (code === ProtocolErrorCode.MissingRequiredClientCapability && isObject(requiredCapabilities)) {
      return new MissingRequiredClientCapabilityError({ requiredCapabilities }, message)
    }
    const isUri = typeof uri === "string" && Object.keys(data).length === 1
    if (isUri && (code === ProtocolErrorCode.InvalidParams || code === ProtocolErrorCode.ResourceNotFound)) {
      return new ResourceNotFoundError(uri, message)
    }
    return new ProtocolError(code, message, data)
  }
}

const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** The error of v1. Its message starts with its code, on the wire too. */
export class McpError extends ProtocolError {
  override readonly name: string = "McpError"

  constructor(code: number, message: string, data?: unknown) {
    super(code, `MCP error ${code}: ${message}`, data)
  }

  static override fromError(code: number, message: string, data?: unknown): McpError {
    return new McpError(code, message, data)
  }
}

/** The request was not sent, or received no answer. */
export class SdkError extends CodedError<SdkErrorCode> {
  override readonly name: string = "SdkError"
}

/** The server requires an access token (401). */
export class UnauthorizedError extends Error {
  override readonly name: string = "UnauthorizedError"

  constructor(message = "Unauthorized") {
    super(message)
  }
}

export class ResourceNotFoundError extends ProtocolError {
  readonly uri: string

  constructor(uri: string, message = `Resource not found: ${uri}`) {
    super(ProtocolErrorCode.InvalidParams, message, { uri })
    this.uri = uri
  }
}

/** Code -32042: the user must visit URLs first (2025-11-25). */
export class UrlElicitationRequiredError extends ProtocolError {
  readonly elicitations: Array<ElicitRequestURLParams>

  constructor(elicitations: Array<ElicitRequestURLParams>, message = "URL elicitation required") {
    super(ProtocolErrorCode.UrlElicitationRequired, message, { elicitations })
    this.elicitations = elicitations
  }
}

export class MissingRequiredClientCapabilityError extends ProtocolError {
  readonly requiredCapabilities: ClientCapabilities

  constructor({ requiredCapabilities }: { requiredCapabilities: ClientCapabilities }, message?: string) {
    const names = Object.keys(requiredCapabilities).join(", ")
    super(
      ProtocolErrorCode.MissingRequiredClientCapability,
      message ?? `Missing required client capabilities: ${names}`,
      { requiredCapabilities }
    )
    this.requiredCapabilities = requiredCapabilities
  }
}
