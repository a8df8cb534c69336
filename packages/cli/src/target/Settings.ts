/**
 * The flags that every command has: how to reach the server, what it may ask, how to print.
 */
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
  verbose: toggle("verbose", "Show the server's stderr, and where errors come from"),
  timeout: text("timeout", "DURATION", "How long to wait for an answer or progress: 30s, 500ms, 2m. Default 60s").pipe(
    Flag.optional
  ),
  revision: choice(
    "revision",
    "VERSION",
    Revision.all.map(({ version }) => version),
    "Speak this revision of the protocol only. Default: the newest that the server speaks"
  ),
  config: text("config", "FILE", "Take the server from the configuration file of a host, instead of after --").pipe(
    Flag.optional
  ),
  server: text("server", "NAME", "With --config: its name there. Default: the only one").pipe(Flag.optional),
  env: text("env", "NAME=VALUE", "An environment variable for the server; repeatable").pipe(Flag.atLeast(0)),
  cwd: text("cwd", "PATH", "Where to start the server").pipe(Flag.optional),
  header: text("header", "NAME: VALUE", "A header for every request to a URL; repeatable").pipe(Flag.atLeast(0)),
  transport: choice(
    "transport",
    "KIND",
    ["auto", "streamable", "sse"],
    "What a URL speaks: Streamable HTTP, HTTP with SSE, or either. Default auto"
  ),
  root: text("root", "PATH", "A folder that the server may ask for (roots); repeatable").pipe(Flag.atLeast(0)),
  sample: text("sample", "TEXT", "Answer every sampling request with this text").pipe(Flag.optional),
  answer: text("answer", "KEY=VALUE", "Answer a field of the server's questions; repeatable").pipe(Flag.atLeast(0)),
  accept: toggle("accept", "Accept the server's forms, with --answer and the defaults of their fields"),
  decline: toggle("decline", "Decline all of the server's questions"),
  yes: toggle("yes", "Share --root and --sample with the server without asking first"),
  logLevel: choice("log-level", "LEVEL", Levels.literals, "Ask the server for log messages from this level on")
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

/** A duration as people type it; a bare number is seconds. `undefined` when it is none, or not longer than nothing. */
export const parseDuration = (input: string): Duration.Duration | undefined => {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)?$/.exec(input.trim()) ?? []
  const millis = Number(amount) * (units[unit] ?? 0)
  return millis > 0 && Number.isFinite(millis) ? Duration.millis(millis) : undefined
}

/** `Name: value`, as curl has it. */
export const parseHeader = (
  text: string,
  flag = "header"
): Result.Result<readonly [name: string, value: string], string> => {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined || /[\r\n\0]/.test(value)) {
    return Result.fail(`--${flag} "${text}" is no header: write "Name: value"`)
  }
  return Result.succeed([name, value.trim()])
}

/** The flags of this run. Ends with exit code 2 when they contradict each other. */
export const settings = Effect.gen(function* () {
  const given = yield* root
  const timeout = Option.map(given.timeout, parseDuration)
  if (Option.isSome(timeout) && timeout.value === undefined) {
    return yield* usage(`--timeout ${Option.getOrElse(given.timeout, () => "")} is no duration: write 30s, 500ms or 2m`)
  }
  if (given.decline && (given.accept || given.answer.length > 0)) {
    return yield* usage("--decline contradicts --accept and --answer")
  }
  if (Option.isSome(given.server) && Option.isNone(given.config)) {
    return yield* usage("--server needs --config FILE, which has the server of that name")
  }
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
