/** `effect-mcp judge` and `record`: the server, served unchanged; held against the specification, or recorded for tests. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { chosen } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { placeOf } from "../tap/Tap.ts"
import { reportFlags } from "./Fuzz.ts"

/** Where a server at a URL is served again. */
const placeFlags = {
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("For a URL: the port where clients reach it. Default: any that is free, which is told"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("ADDRESS"),
    Flag.withDescription("For a URL: where to listen. Default 127.0.0.1, which only this machine reaches"),
    Flag.optional
  )
}

/** The server, the settings, and where it is served. */
const served = Effect.fnUntraced(function* (given: {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
}) {
  const settings = yield* Settings.settings
  const target = yield* chosen(settings)
  const [port, host] = [Option.getOrUndefined(given.port), Option.getOrUndefined(given.host)]
  return { settings, target, place: yield* placeOf(target, { port, host }) }
})

export const judge = Command.make(
  "judge",
  { ...reportFlags, ...placeFlags },
  Effect.fnUntraced(function* (given) {
    const { place, settings, target } = yield* served(given)
    const { level, only, report } = given
    // Loaded when needed: the other commands judge nothing.
    const Judging = yield* Effect.promise(() => import("../testing/Judging.ts"))
    return yield* Judging.judge(target, settings, place, {
      level,
      only,
      report,
      known: Option.getOrUndefined(given.known)
    })
  })
).pipe(
  Command.withDescription("Pass real traffic on, and hold it against the specification"),
  Command.withExamples([
    {
      command: "effect-mcp judge --report junit.xml -- node server.js",
      description: "In place of the server's command, over stdio; ends with the server, with exit code 1 for findings"
    },
    {
      command: "effect-mcp judge --port 8080 -- http://localhost:3000/mcp",
      description: "Clients use http://localhost:8080/mcp; Ctrl+C or SIGTERM ends it with the same exit codes"
    }
  ])
)

export const record = Command.make(
  "record",
  {
    ...placeFlags,
    file: Argument.String("file").pipe(Argument.withDescription("The cassette to write, one message a line (JSONL)")),
    redact: Flag.String("redact").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("A field whose values are secrets, beside those that are named like one; repeatable"),
      Flag.atLeast(0)
    )
  },
  Effect.fnUntraced(function* (given) {
    const { place, settings, target } = yield* served(given)
    const Recording = yield* Effect.promise(() => import("../testing/Recording.ts"))
    return yield* Recording.record(target, settings, place, { file: given.file, redact: given.redact })
  })
).pipe(
  Command.withDescription("Pass real traffic on, and record it to be replayed in tests"),
  Command.withExamples([
    {
      command: "effect-mcp record weather.jsonl -- node server.js",
      description: 'In place of the server\'s command; Cassette.replayed("weather.jsonl") then stands for the server'
    }
  ])
)
