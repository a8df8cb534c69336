/** `effect-mcp check`, `fuzz` and `fuzz-client` check a server or a client against the specification; `replay` replays a finding. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { orUsage } from "../terminal/Arguments.ts"
import { usage } from "../terminal/Exit.ts"
import { chosen } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))
const count = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withMetavar("N"), Flag.withDescription(description))

/** Flags for the rules to check and the reports to write. */
export const reportFlags = {
  only: text("only", "RULE", "Only rules whose name, requirement or level starts with this; repeatable").pipe(
    Flag.atLeast(0)
  ),
  known: text("known", "FILE", "Accepted findings: one key or rule name per line, # for comments").pipe(Flag.optional),
  level: Flag.ChoiceWithValue("level", [
    ["MUST", "MUST"],
    ["SHOULD", "SHOULD"],
    ["robustness", "robustness"]
  ] as const).pipe(
    Flag.withMetavar("LEVEL"),
    Flag.withDescription("The lowest level that causes exit code 1: MUST, SHOULD, robustness. Default robustness"),
    Flag.withDefault("robustness" as const)
  ),
  strict: Flag.Boolean("strict").pipe(
    Flag.withDescription("Also count known bugs in the server's SDK"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  report: text(
    "report",
    "FILE",
    "Write a report: JSON (.json), JUnit (.xml), else Markdown, appended ($GITHUB_STEP_SUMMARY); repeatable"
  ).pipe(Flag.atLeast(0))
}

const flags = {
  ...reportFlags,
  time: text("time", "DURATION", "How long to search: 30s, 2m, 1h. Default 1m").pipe(Flag.withDefault("1m")),
  runs: count("runs", "Maximum number of conversations. Default: as many as the time allows").pipe(Flag.optional),
  seed: text("seed", "TEXT", "Seed of the generated conversations. Default 1").pipe(Flag.withDefault("1")),
  jobs: count("jobs", "Conversations at once. Default 2").pipe(Flag.withDefault(2)),
  save: text("save", "FOLDER", "Write each finding to a file there, for effect-mcp replay").pipe(Flag.optional)
}

const toolFlags = {
  allowDestructive: Flag.Boolean("allow-destructive").pipe(
    Flag.withDescription("Also call tools marked as destructive"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  skipTool: text("skip-tool", "NAME", "A tool to never call; repeatable").pipe(Flag.atLeast(0))
}

const serverFlags = { ...flags, ...toolFlags }

const stranger = "stranger-header"

/** Credentials of a second user, which replace those from `--header`. */
const strangerFlag = {
  strangerHeader: text(
    stranger,
    "NAME: VALUE",
    "For a URL: a header of a second user, who must not reach the first user's tasks; repeatable"
  ).pipe(Flag.atLeast(0))
}

const strangerOf = ({ strangerHeader }: { readonly strangerHeader: ReadonlyArray<string> }) =>
  strangerHeader.length === 0
    ? Effect.undefined
    : Effect.map(
        orUsage(Result.all(strangerHeader.map((each) => Settings.parseHeader(each, stranger)))),
        Object.fromEntries<string>
      )

const clientFlags = {
  ...flags,
  scenario: text(
    "scenario",
    "NAME",
    "The client's scenario, passed in MCP_CONFORMANCE_SCENARIO. Default tools_call"
  ).pipe(Flag.withDefault("tools_call")),
  stdio: Flag.Boolean("stdio").pipe(
    Flag.withDescription("Pass the client a server's command to start, instead of a URL"),
    Flag.withDefault(false),
    Flag.withoutNegation
  )
}

/** Parses `--time` and checks the range of `--jobs`. */
const checked = Effect.fnUntraced(function* (given: {
  readonly jobs: number
  readonly time: string
  readonly runs: Option.Option<number>
  readonly known: Option.Option<string>
  readonly save: Option.Option<string>
}) {
  const time = Settings.parseDuration(given.time)
  if (time === undefined) return yield* usage(`--time ${given.time} is not a duration: write 30s, 2m or 1h`)
  if (given.jobs < 1 || given.jobs > 64) return yield* usage(`--jobs ${given.jobs}: at least 1, at most 64`)
  return {
    time: Duration.toMillis(time),
    runs: Option.getOrUndefined(given.runs),
    known: Option.getOrUndefined(given.known),
    save: Option.getOrUndefined(given.save)
  }
})

/** Loaded on demand, because most commands don't need the fuzzer. */
const loaded = Effect.promise(() => import("../testing/Fuzzing.ts"))

const settingsAndTarget = Effect.gen(function* () {
  const settings = yield* Settings.settings
  return { target: yield* chosen(settings), settings }
})

export const check = Command.make(
  "check",
  {
    ...reportFlags,
    ...strangerFlag,
    ...toolFlags,
    time: text("time", "DURATION", "How long the check may take. Default 1m").pipe(Flag.withDefault("1m")),
    jobs: count("jobs", "Conversations at once. Default 3").pipe(Flag.withDefault(3)),
    badge: text("badge", "FILE", "Write a badge: an image (.svg), or else a shields.io endpoint (JSON)").pipe(
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (given) {
    const { settings, target } = yield* settingsAndTarget
    const limits = yield* checked({ ...given, runs: Option.none(), save: Option.none() })
    const strangerHeaders = yield* strangerOf(given)
    const Checking = yield* Effect.promise(() => import("../testing/Checking.ts"))
    const badge = Option.getOrUndefined(given.badge)
    return yield* Checking.check(target, settings, { ...given, ...limits, badge, strangerHeaders })
  })
).pipe(
  Command.withDescription("Check a server against each rule of the specification"),
  Command.withExamples([
    { command: "effect-mcp check -- node server.js", description: "A check mark or a cross for each rule" },
    { command: "effect-mcp check -- http://localhost:3000/mcp", description: "The same over Streamable HTTP" },
    {
      command: "effect-mcp check --level MUST --report junit.xml --badge badge.svg -- python server.py",
      description: "In CI: exit code 1 if a MUST is broken"
    }
  ])
)

export const fuzz = Command.make(
  "fuzz",
  { ...serverFlags, ...strangerFlag },
  Effect.fnUntraced(function* (given) {
    const { settings, target } = yield* settingsAndTarget
    const limits = yield* checked(given)
    const strangerHeaders = yield* strangerOf(given)
    const Fuzzing = yield* loaded
    return yield* Fuzzing.fuzz(target, settings, { ...given, ...limits, strangerHeaders })
  })
).pipe(
  Command.withDescription("Search a server for violations of the specification"),
  Command.withExamples([
    { command: "effect-mcp fuzz -- node server.js", description: "One minute, every revision that it supports" },
    { command: "effect-mcp fuzz -- http://localhost:3000/mcp", description: "The same over Streamable HTTP" },
    {
      command: "effect-mcp fuzz --time 10m --known known.txt --report junit.xml -- python server.py",
      description: "In CI: exit code 1 if there is a finding that is not accepted"
    }
  ])
)

const { only: _, save: __, level: ___, ...limitFlags } = serverFlags

export const diff = Command.make(
  "diff",
  {
    ...limitFlags,
    ignore: text(
      "ignore",
      "PATH",
      "A value that may differ: result.structuredContent.now, tools/call clock; repeatable"
    ).pipe(Flag.atLeast(0))
  },
  Effect.fnUntraced(function* (given) {
    const { settings, target } = yield* settingsAndTarget
    const limits = yield* checked({ ...given, save: Option.none() })
    const Fuzzing = yield* loaded
    return yield* Fuzzing.diff(target, settings, { ...given, ...limits, level: "robustness", only: [] })
  })
).pipe(
  Command.withDescription("Compare two servers or versions with the same conversations"),
  Command.withExamples([
    {
      command: "effect-mcp diff -- node old.js --- node new.js",
      description: "The differences, and the shortest conversation for each"
    },
    {
      command: "effect-mcp diff --ignore result.structuredContent.now -- ./server --- http://localhost:3000/mcp",
      description: "A process and a URL, ignoring one field"
    }
  ])
)

export const fuzzClient = Command.make(
  "fuzz-client",
  clientFlags,
  Effect.fnUntraced(function* (given) {
    const { settings, target } = yield* settingsAndTarget
    const limits = yield* checked(given)
    const Fuzzing = yield* loaded
    return yield* Fuzzing.fuzzClient(target, settings, { ...given, ...limits })
  })
).pipe(
  Command.withDescription("Check whether a client follows the specification"),
  Command.withExamples([
    {
      command: "effect-mcp fuzz-client -- node client.js",
      description: "node client.js URL lists each server's tools, calls add_numbers, and exits with code 0"
    },
    {
      command: "effect-mcp fuzz-client --stdio -- node client.js",
      description: "node client.js COMMAND ARGS... starts the server and communicates with it over stdin and stdout"
    }
  ])
)

export const replay = Command.make(
  "replay",
  {
    ...strangerFlag,
    file: Argument.String("file").pipe(
      Argument.withDescription("A finding written by fuzz --save or fuzz-client --save")
    )
  },
  Effect.fnUntraced(function* (given) {
    const { settings, target } = yield* settingsAndTarget
    const strangerHeaders = yield* strangerOf(given)
    const Fuzzing = yield* loaded
    return yield* Fuzzing.replay(target, settings, { file: given.file, strangerHeaders })
  })
).pipe(
  Command.withDescription("Replay a finding from either fuzzer and show the wire messages"),
  Command.withExamples([{ command: "effect-mcp replay findings/answer-always-tools-list.json -- node server.js" }])
)
