/** Converts between the errors of the underlying server and the errors of the SDK. */
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Promised from "@effect-mcp/promise"
import { ProtocolError, SdkError, SdkErrorCode, UnauthorizedError } from "../model/errors.ts"

const codes: { readonly [reason in Promised.Reason]: SdkErrorCode } = {
  CapabilityMissing: SdkErrorCode.CapabilityNotSupported,
  Closed: SdkErrorCode.ConnectionClosed,
  Declined: SdkErrorCode.InvalidResult,
  Forbidden: SdkErrorCode.SendFailed,
  InvalidResult: SdkErrorCode.InvalidResult,
  TaskCancelled: SdkErrorCode.InvalidResult,
  Timeout: SdkErrorCode.RequestTimeout,
  ToolFailure: SdkErrorCode.InvalidResult,
  TransportError: SdkErrorCode.SendFailed,
  Unauthorized: SdkErrorCode.SendFailed,
  UnsupportedRevision: SdkErrorCode.EraNegotiationFailed
}

/** Converts an error of the promise package to the SDK's error. Other values stay as they are. */
export const toSdk = (error: unknown): unknown => {
  if (error instanceof Promised.McpError) return ProtocolError.fromError(error.code, error.message, error.data)
  if (!(error instanceof Promised.RequestError)) return error
  if (error.reason === "Unauthorized") return new UnauthorizedError(error.message)
  if (error.reason === "Declined") return new ProtocolError(Wire.UserRejected, error.message)
  return new SdkError(codes[error.reason], error.message)
}

const codeOf = (thrown: unknown): number | undefined =>
  thrown instanceof Error && "code" in thrown && Number.isSafeInteger(thrown.code) ? Number(thrown.code) : undefined

/** Converts a value that a handler threw. If it has a number as its code, the answer has that code. */
export const toAnswer = (thrown: unknown): unknown => {
  const code = codeOf(thrown)
  if (code === undefined || !(thrown instanceof Error)) return thrown
  return new Promised.McpError(code, thrown.message, "data" in thrown ? thrown.data : undefined)
}
