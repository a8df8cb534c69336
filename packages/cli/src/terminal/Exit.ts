/**
 * Exit codes that scripts can rely on, and error messages as sentences.
 *
 * Converts every failure to a `CommandFailure`. Stack traces are only shown with `--verbose`.
 */
import type * as ClientError from "@effect-mcp/client/ClientError"
import type { OAuthError } from "@effect-mcp/auth/OAuthError"
import type { TransportError } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as CliError from "effect/cli/CliError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as PlatformError from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import * as Unanswered from "./Unanswered.ts"

/** Exit codes, as `--help` explains them. */
export const code = {
  ok: 0,
  /** An error from the server or of `--lock` or `--policy`, a result with `isError`, or a finding of `fuzz`, `lint` or `audit verify`. */
  server: 1,
  /** The command line is invalid. The server was only asked for its lists. */
  usage: 2,
  /** The server could not be started or reached, or broke the protocol. */
  connection: 3,
  /** No answer within `--timeout`. */
  timeout: 4,
  /** Ctrl+C or SIGTERM. */
  interrupted: 130
} as const
export type Code = (typeof code)[keyof typeof code]

/** The exit codes for `--help`. */
export const codeTable: ReadonlyArray<readonly [string, string]> = [
  ["0", "all went well"],
  [
    "1",
    "the server returned an error, the tool failed, fuzz found a violation, lint found a tool that some host cannot use, verify or audit verify found a change, or --lock or --policy denied a request"
  ],
  ["2", "the command line is wrong, or you declined a required step"],
  ["3", "the server could not be started, disconnected, or violated the protocol"],
  ["4", "no response in time (see --timeout)"],
  ["130", "interrupted by Ctrl+C or SIGTERM; running calls were cancelled first"]
]

/** A failed command. An empty `message` means that everything has already been printed. */
export class CommandFailure extends Data.TaggedError("CommandFailure")<{
  readonly code: Code
  readonly message: string
  /** Additional lines to show, such as the end of a crashed server's stderr or the data of an error. */
  readonly detail?: string | undefined
}> {}

export const usage = (message: string): CommandFailure => new CommandFailure({ code: code.usage, message })

/** Exit code when a signal stops a command that runs until it is stopped. Default `code.interrupted`. */
let ending: Code | undefined
export const endWith = (exitCode: Code): Effect.Effect<void> =>
  Effect.sync(() => {
    ending = exitCode
  })
export const atSignal = (): Code => ending ?? code.interrupted
/** Returns a failure without a message, for errors that have already been printed. */
export const silent = (exitCode: Code): CommandFailure => new CommandFailure({ code: exitCode, message: "" })

/** The reader of the output closed it, as in `effect-mcp ... | head`. Ends the command without a message. */
export class OutputClosed extends Data.TaggedError("OutputClosed")<{}> {}

/** Everything a command may fail with. */
export type CommandError =
  | ClientError.ClientError
  | ClientError.UnsupportedRevision
  | CommandFailure
  | OutputClosed
  | TransportError

const codeNames: { readonly [code: number]: string } = {
  [McpError.ParseError]: "parse error",
  [McpError.InvalidRequest]: "invalid request",
  [McpError.MethodNotFound]: "method not found",
  [McpError.InvalidParams]: "invalid params",
  [McpError.InternalError]: "internal error",
  [McpError.ResourceNotFound]: "resource not found",
  [McpError.UrlElicitationRequired]: "URL elicitation required",
  [McpError.LimitExceeded]: "limit exceeded",
  [McpError.LoopDetected]: "gateway loop",
  [McpError.UserRejected]: "rejected by the user",
  [McpError.HeaderMismatch]: "header mismatch",
  [McpError.MissingClientCapability]: "missing client capability",
  [McpError.UnsupportedProtocolVersion]: "unsupported protocol version"
}

const fromMcpError = ({ code: number, data, message }: McpError.McpError): CommandFailure => {
  const name = codeNames[number]
  const flags = number === McpError.MissingClientCapability ? Unanswered.flagsOfData(data) : undefined
  return new CommandFailure({
    code: code.server,
    message: `The server returned an error: ${message} (${number}${name === undefined ? "" : `, ${name}`})`,
    detail: flags ?? (data === undefined ? undefined : JSON.stringify(data, undefined, 2))
  })
}

/** Converts an OAuth error. If the user declined the login, the exit code is `usage`. */
export const fromOAuth = (error: OAuthError): CommandFailure =>
  new CommandFailure({ code: error.code === "access_denied" ? code.usage : code.connection, message: error.message })

/** Converts a failed login. Some servers only accept tokens that no login can provide. */
const fromLogin = (error: OAuthError): CommandFailure => {
  const { code, message } = fromOAuth(error)
  const detail = "If the server issues its own tokens, use --header 'Authorization: Bearer TOKEN'."
  return new CommandFailure({ code, message, detail: error.code === "access_denied" ? undefined : detail })
}

// Checked by name: loading OAuth for its class would be slow.
const isOAuth = (error: unknown): error is OAuthError => Predicate.isTagged(error, "OAuthError")

/** Finds the OAuth error among the causes of a failed request. */
const findOAuth = (error: unknown, depth = 8): OAuthError | undefined => {
  if (isOAuth(error)) return error
  if (depth === 0 || !Predicate.isObject(error)) return undefined
  return findOAuth("cause" in error ? error.cause : undefined, depth - 1)
}

/** Converts a transport error. Adds the end of the server's stderr, which usually shows the reason for a crash. */
const fromTransportError = ({ cause, message, reason, stderr }: TransportError): CommandFailure => {
  const login = findOAuth(cause)
  if (login !== undefined) return fromLogin(login)
  const said = stderr === undefined || stderr.trim() === "" ? undefined : stderr.trimEnd()
  const detail = said === undefined ? undefined : `The end of its stderr:\n${indent(said)}`
  const what = reason === "Open" ? "The server could not be started" : "The connection to the server broke"
  const why = notFound(cause) ?? message.split("\n", 1)[0]?.replace("; the end of its stderr:", "")
  return new CommandFailure({ code: code.connection, message: `${what}: ${why}`, detail })
}

/** Names the missing command if that is why the process could not be started. */
const notFound = (cause: unknown): string | undefined => {
  if (!(cause instanceof PlatformError.PlatformError) || cause.reason._tag !== "NotFound") return undefined
  const { pathOrDescriptor: command } = cause.reason
  const named = command === undefined ? "such command" : `command ${JSON.stringify(String(command))}`
  return `there is no ${named} (or no such --cwd)`
}

const indent = (text: string): string => text.replace(/^/gm, "  ")

const fromError = (error: CommandError): CommandFailure => {
  switch (error._tag) {
    case "CommandFailure":
      return error
    case "OutputClosed":
      return silent(code.ok)
    case "McpError":
      return fromMcpError(error)
    case "TransportError":
      return fromTransportError(error)
    case "Closed":
      return error.cause === undefined
        ? new CommandFailure({ code: code.connection, message: "The server closed the connection before it responded" })
        : fromTransportError(error.cause)
    case "Forbidden":
    case "Unauthorized": {
      const login = findOAuth(error.cause)
      if (login !== undefined) return fromLogin(login)
      return error._tag === "Forbidden"
        ? new CommandFailure({ code: code.connection, message: error.message })
        : new CommandFailure({
            code: code.connection,
            message: error.refusal,
            detail:
              "Use --header 'Authorization: Bearer TOKEN' with a valid token, or leave out this header and log in: effect-mcp login URL."
          })
    }
    case "Timeout":
      return new CommandFailure({
        code: code.timeout,
        message: `The server did not respond to ${error.method} in time`
      })
    case "CapabilityMissing":
      return new CommandFailure({
        code: code.server,
        message: `The server does not support this (${error.capability})`
      })
    case "TaskCancelled":
      return new CommandFailure({ code: code.server, message: `The task was cancelled: ${error.message}` })
    case "ConsentDenied":
      return new CommandFailure({ code: code.usage, message: "You did not allow this" })
    default:
      return new CommandFailure({ code: code.connection, message: error.message })
  }
}

/** Returns the error for a cause, and the detail for `--verbose`. Interruption only counts if there is no other reason. */
export const fromCause = (cause: Cause.Cause<CommandError | CliError.CliError>): readonly [CommandFailure, string] => {
  const failed = cause.reasons.find(Cause.isFailReason)
  if (failed !== undefined) {
    const { error } = failed
    // The parser has already shown its own errors.
    const failure = isCommandError(error) ? fromError(error) : silent(code.usage)
    return [failure, Cause.pretty(cause)]
  }
  if (Cause.hasInterruptsOnly(cause)) return [silent(code.interrupted), ""]
  const defect = Cause.squash(cause)
  const message = Predicate.isError(defect) ? defect.message : String(defect)
  return [
    new CommandFailure({
      code: code.connection,
      message: `effect-mcp itself failed: ${message}`,
      detail: "This is a bug; --verbose shows where it happened."
    }),
    Cause.pretty(cause)
  ]
}

const tags: ReadonlySet<string> = new Set<CommandError["_tag"]>([
  "CapabilityMissing",
  "Closed",
  "ConsentDenied",
  "CommandFailure",
  "Forbidden",
  "InvalidResult",
  "McpError",
  "OutputClosed",
  "TaskCancelled",
  "Timeout",
  "TransportError",
  "Unauthorized",
  "UnsupportedRevision"
])
const isCommandError = (error: CommandError | CliError.CliError): error is CommandError => tags.has(error._tag)
