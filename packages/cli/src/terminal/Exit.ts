/**
 * How the command ends: exit codes that scripts can rely on, and errors as sentences.
 *
 * Every failure of every module becomes one `Failure`. Refuses to show stack traces, unless `--verbose` asks for the detail.
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

/** What the exit codes mean; `--help` says the same. */
export const code = {
  ok: 0,
  /** The server answered with an error, a tool's result says `isError`, `fuzz` found a fault, or `audit verify` a change. */
  server: 1,
  /** The command line makes no sense. The server was asked nothing beyond its lists. */
  usage: 2,
  /** The server could not be started or reached, or broke the protocol. */
  connection: 3,
  /** No answer within `--timeout`. */
  timeout: 4,
  /** Ctrl+C or SIGTERM. */
  interrupted: 130
} as const
export type Code = (typeof code)[keyof typeof code]

/** The same for `--help`. */
export const codeTable: ReadonlyArray<readonly [string, string]> = [
  ["0", "all went well"],
  [
    "1",
    "the server answered with an error, the tool's result is an error, fuzz found a fault, or audit verify a change"
  ],
  ["2", "the command line is wrong, or you refused what it needs"],
  ["3", "the server could not be started, went away, or broke the protocol"],
  ["4", "no answer in time (see --timeout)"],
  ["130", "interrupted by Ctrl+C or SIGTERM; running calls were cancelled first"]
]

/** The end of a command that did not go well. An empty `message` means that everything has been said already. */
export class CommandFailure extends Data.TaggedError("CommandFailure")<{
  readonly code: Code
  readonly message: string
  /** Further lines, worth showing by default: a crashed server's last words, the data of an error. */
  readonly detail?: string | undefined
}> {}

export const usage = (message: string): CommandFailure => new CommandFailure({ code: code.usage, message })
/** For results that say that they are errors: they have been printed. */
/** How the program ends where a signal ends a command that has its end by one: what it found decides. Default `code.interrupted`. */
let ending: Code | undefined
export const endWith = (exitCode: Code): Effect.Effect<void> =>
  Effect.sync(() => {
    ending = exitCode
  })
export const atSignal = (): Code => ending ?? code.interrupted
export const silent = (exitCode: Code): CommandFailure => new CommandFailure({ code: exitCode, message: "" })

/** The reader of the output has closed it: `effect-mcp ... | head`. Ends the command without a message. */
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
    message: `The server answered with an error: ${message} (${number}${name === undefined ? "" : `, ${name}`})`,
    detail: flags ?? (data === undefined ? undefined : JSON.stringify(data, undefined, 2))
  })
}

/** A login that the user declined is their decision. */
export const fromOAuth = (error: OAuthError): CommandFailure =>
  new CommandFailure({ code: error.code === "access_denied" ? code.usage : code.connection, message: error.message })

/** The end of a command for the want of a login: some servers take tokens that no login gives. */
const fromLogin = (error: OAuthError): CommandFailure => {
  const { code, message } = fromOAuth(error)
  const detail = "For a server with tokens of its own, use --header 'Authorization: Bearer TOKEN'."
  return new CommandFailure({ code, message, detail: error.code === "access_denied" ? undefined : detail })
}

// By name: to load OAuth for its class would take its time.
const isOAuth = (error: unknown): error is OAuthError => Predicate.isTagged(error, "OAuthError")

/** The login that a request failed for the want of: a cause of its cause. */
const findOAuth = (error: unknown, depth = 8): OAuthError | undefined => {
  if (isOAuth(error)) return error
  if (depth === 0 || !Predicate.isObject(error)) return undefined
  return findOAuth("cause" in error ? error.cause : undefined, depth - 1)
}

/** A crash is told with the server's last words on stderr, which usually say why. */
const fromTransportError = ({ cause, message, reason, stderr }: TransportError): CommandFailure => {
  const login = findOAuth(cause)
  if (login !== undefined) return fromLogin(login)
  const said = stderr === undefined || stderr.trim() === "" ? undefined : stderr.trimEnd()
  const detail = said === undefined ? undefined : `Its last words on stderr:\n${indent(said)}`
  const what = reason === "Open" ? "The server could not be started" : "The connection to the server broke"
  const why = notFound(cause) ?? message.split("\n", 1)[0]?.replace("; the end of its stderr:", "")
  return new CommandFailure({ code: code.connection, message: `${what}: ${why}`, detail })
}

/** Names the command that is not there, where that is why no process was started. */
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
        ? new CommandFailure({ code: code.connection, message: "The server ended the connection before it answered" })
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
              "Use --header 'Authorization: Bearer TOKEN' with a token that it takes, or leave this header out and log in: effect-mcp login URL."
          })
    }
    case "Timeout":
      return new CommandFailure({ code: code.timeout, message: `The server did not answer ${error.method} in time` })
    case "CapabilityMissing":
      return new CommandFailure({ code: code.server, message: `The server does not offer this (${error.capability})` })
    case "TaskCancelled":
      return new CommandFailure({ code: code.server, message: `The task was cancelled: ${error.message}` })
    case "ConsentDenied":
      return new CommandFailure({ code: code.usage, message: "You did not allow this" })
    default:
      return new CommandFailure({ code: code.connection, message: error.message })
  }
}

/** What a cause amounts to; the second part is for `--verbose`. Interruption counts only if nothing else happened. */
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
