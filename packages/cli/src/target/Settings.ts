/** Flags for all commands: how to reach the server, how to answer its questions, how to print. */
import * as Revision from "@effect-mcp/protocol/Revision"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import { LoggingLevel as Levels } from "@effect-mcp/protocol/model/Logging"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { assembleText, orUsage, parse } from "../terminal/Arguments.ts"
import { usage } from "../terminal/Exit.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))
const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false), Flag.withoutNegation)
const choice = <A extends string>(name: string, metavar: string, values: ReadonlyArray<A>, description: string) =>
  Flag.ChoiceWithValue(
    name,
    values.map((value) => [value, value] as const)
  ).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const flags = {
  json: toggle("json", "Print JSON for scripts: one document, or one line per event"),
  verbose: toggle("verbose", "Show the server's stderr, and stack traces of errors"),
  timeout: text("timeout", "DURATION", "How long to wait for an answer or progress: 30s, 500ms, 2m. Default 60s").pipe(
    Flag.optional
  ),
  revision: choice(
    "revision",
    "VERSION",
    Revision.all.map(({ version }) => version),
    "Only use this protocol revision. Default: the newest that the server supports"
  ),
  config: text("config", "FILE", "Read the server from a host's configuration file, instead of after --").pipe(
    Flag.optional
  ),
  server: text("server", "NAME", "With --config: the server's name in the file. Default: the only server").pipe(
    Flag.optional
  ),
  lock: text("lock", "FILE", "Hide everything that differs from this lock file, which effect-mcp lock writes").pipe(
    Flag.optional
  ),
  policy: text("policy", "FILE", "Decide by the rules in this JSON file which calls and questions are allowed").pipe(
    Flag.optional
  ),
  sandbox: toggle("sandbox", "Start the server without network, and let it write only to the folders of --root"),
  network: toggle("network", "With --sandbox: let the server use the network"),
  env: text("env", "NAME=VALUE", "An environment variable for the server; repeatable").pipe(Flag.atLeast(0)),
  cwd: text("cwd", "PATH", "Where to start the server").pipe(Flag.optional),
  header: text("header", "NAME: VALUE", "A header for every request to a URL; repeatable").pipe(Flag.atLeast(0)),
  transport: choice(
    "transport",
    "KIND",
    ["auto", "streamable", "sse"],
    "The transport of a URL: Streamable HTTP, HTTP with SSE, or either. Default auto"
  ),
  root: text("root", "PATH", "A folder that the server may ask for (roots); repeatable").pipe(Flag.atLeast(0)),
  sample: text("sample", "TEXT", "Answer every sampling request with this text").pipe(Flag.optional),
  answer: text("answer", "KEY=VALUE", "Answer a field of the server's questions; repeatable").pipe(Flag.atLeast(0)),
  accept: toggle("accept", "Accept the server's forms, with --answer and the defaults of their fields"),
  decline: toggle("decline", "Decline all of the server's questions"),
  yes: toggle("yes", "Share --root and --sample with the server without asking you first"),
  logLevel: choice(
    "log-level",
    "LEVEL",
    Levels.literals,
    "Request log messages of this level and above from the server"
  )
}

/** The command that holds the shared flags; subcommands read them from it. */
export const root = Command.make("effect-mcp").pipe(Command.withSharedFlags(flags))

export interface Settings {
  readonly json: boolean
  readonly verbose: boolean
  readonly timeout: Duration.Duration | undefined
  readonly revision: Revision.Version | undefined
  readonly config: string | undefined
  readonly server: string | undefined
  /** The lock file that pins the server. */
  readonly lock: string | undefined
  /** The file with rules for the server's tools and questions. */
  readonly policy: string | undefined
  /** How to confine the server's process, or `undefined` to start it with the user's rights. */
  readonly sandbox: { readonly network: boolean } | undefined
  readonly env: { readonly [name: string]: string }
  readonly cwd: string | undefined
  readonly headers: { readonly [name: string]: string }
  readonly transport: "auto" | "streamable" | "sse"
  readonly roots: ReadonlyArray<string>
  readonly sample: string | undefined
  readonly answers: ReadonlyArray<string>
  readonly accept: boolean
  readonly decline: boolean
  readonly yes: boolean
  readonly logLevel: LoggingLevel | undefined
}

const units: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Parses a duration; a bare number means seconds. Returns `undefined` if the text is not a positive duration. */
export const parseDuration = (input: string): Duration.Duration | undefined => {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(input.trim()) ?? []
  const millis = Number(amount) * (units[unit] ?? 0)
  return millis > 0 && Number.isFinite(millis) ? Duration.millis(millis) : undefined
}

/** Parses `Name: value`, as in curl. */
export const parseHeader = (
  text: string,
  flag = "header"
): Result.Result<readonly [name: string, value: string], string> => {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined || /[\r\n\0]/.test(value)) {
    return Result.fail(`--${flag} "${text}" is not a header: write "Name: value"`)
  }
  return Result.succeed([name, value.trim()])
}

/** Reads the flags of this run. Contradictory flags end the command with exit code 2. */
export const settings = Effect.gen(function* () {
  const given = yield* root
  const timeout = Option.map(given.timeout, parseDuration)
  if (Option.isSome(timeout) && timeout.value === undefined) {
    return yield* usage(
      `--timeout ${Option.getOrElse(given.timeout, () => "")} is not a duration: write 30s, 500ms or 2m`
    )
  }
  if (given.decline && (given.accept || given.answer.length > 0)) {
    return yield* usage("--decline contradicts --accept and --answer")
  }
  if (Option.isSome(given.server) && Option.isNone(given.config)) {
    return yield* usage("--server needs --config FILE, the file that contains the server")
  }
  if (given.network && !given.sandbox)
    return yield* usage("--network needs --sandbox: without it, the server may use the network anyway")
  yield* orUsage(Result.all(given.answer.map(parse)))
  const headers = yield* orUsage(Result.all(given.header.map((header) => parseHeader(header))))
  const env = yield* orUsage(assembleText(given.env))
  const result: Settings = {
    json: given.json,
    verbose: given.verbose,
    timeout: Option.getOrUndefined(timeout),
    revision: Option.getOrUndefined(given.revision),
    config: Option.getOrUndefined(given.config),
    server: Option.getOrUndefined(given.server),
    lock: Option.getOrUndefined(given.lock),
    policy: Option.getOrUndefined(given.policy),
    sandbox: given.sandbox ? { network: given.network } : undefined,
    env: Object.fromEntries(env),
    cwd: Option.getOrUndefined(given.cwd),
    headers: Object.fromEntries(headers),
    transport: Option.getOrElse(given.transport, () => "auto" as const),
    roots: given.root,
    sample: Option.getOrUndefined(given.sample),
    answers: given.answer,
    accept: given.accept,
    decline: given.decline,
    yes: given.yes,
    logLevel: Option.getOrUndefined(given.logLevel)
  }
  return result
})
