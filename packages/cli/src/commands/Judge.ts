/** `effect-mcp judge`: the server, served unchanged, and held against the specification while it is used. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { chosen } from "../Session.ts"
import * as Settings from "../Settings.ts"
import { placeOf } from "../tap/Tap.ts"
import { reportFlags } from "./Fuzz.ts"

/** Where a server at a URL is served again. */
export const placeFlags = {
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

export const judge = Command.make(
  "judge",
  { ...reportFlags, ...placeFlags },
  Effect.fnUntraced(function* (given) {
    const settings = yield* Settings.settings
    const target = yield* chosen(settings)
    const place = yield* placeOf(target, {
      port: Option.getOrUndefined(given.port),
      host: Option.getOrUndefined(given.host)
    })
    const { level, only, report } = given
    // Loaded when needed: the other commands judge nothing.
    const Judging = yield* Effect.promise(() => import("../Judging.ts"))
    return yield* Judging.judge(target, settings, place, {
      level,
      only,
      report,
      known: Option.getOrUndefined(given.known)
    })
  })
).pipe(
  Command.withDescription("Serve the server unchanged, and hold real traffic against the specification"),
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
