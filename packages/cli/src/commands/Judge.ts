/** `effect-mcp judge` and `record`: forward all of a server's traffic, and check it against the specification or record it for tests. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { chosen } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { placeOf } from "../tap/Tap.ts"
import { reportFlags } from "./Fuzz.ts"

/** Flags for the address of the proxy in front of an HTTP server. */
const placeFlags = {
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("For a URL: the port for clients. Default: any free port, which is printed"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("ADDRESS"),
    Flag.withDescription("For a URL: the address to listen on. Default 127.0.0.1, which only this machine can reach"),
    Flag.optional
  )
}

/** Returns the server, the settings, and the address to serve at. */
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
    const { level, only, report, strict } = given
    // Loaded on demand, because only these commands need it.
    const Judging = yield* Effect.promise(() => import("../testing/Judging.ts"))
    return yield* Judging.judge(target, settings, place, {
      level,
      strict,
      only,
      report,
      known: Option.getOrUndefined(given.known)
    })
  })
).pipe(
  Command.withDescription("Forward real traffic, and check it against the specification"),
  Command.withExamples([
    {
      command: "effect-mcp judge --report junit.xml -- node server.js",
      description: "Replaces the server's command, over stdio; exits with the server, with code 1 if there are findings"
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
    file: Argument.String("file").pipe(Argument.withDescription("The cassette to write, one message per line (JSONL)")),
    redact: Flag.String("redact").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("A field whose values are secret, in addition to fields named like secrets; repeatable"),
      Flag.atLeast(0)
    )
  },
  Effect.fnUntraced(function* (given) {
    const { place, settings, target } = yield* served(given)
    const Recording = yield* Effect.promise(() => import("../testing/Recording.ts"))
    return yield* Recording.record(target, settings, place, { file: given.file, redact: given.redact })
  })
).pipe(
  Command.withDescription("Forward real traffic, and record it for replay in tests"),
  Command.withExamples([
    {
      command: "effect-mcp record weather.jsonl -- node server.js",
      description: 'In place of the server\'s command; Cassette.replayed("weather.jsonl") then stands for the server'
    }
  ])
)
