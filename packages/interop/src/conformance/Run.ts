/** Runs one leg: starts the programs it needs, lets the suite write its results, then reads and judges them. */
import { Effect, FileSystem, Schema, Stream } from "effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { fileURLToPath } from "node:url"
import type { Leg } from "./Leg.ts"
import * as Score from "./Score.ts"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const reference = at("../reference")
const suites: { readonly [version in Leg["suite"]]: string } = {
  "0.1.16": at("../../node_modules/@modelcontextprotocol/conformance-0.1/dist/index.js"),
  "0.2.0-alpha.12": at("../../node_modules/@modelcontextprotocol/conformance/dist/index.js")
}
/** Command with options that runs our programs, directly from TypeScript. */
export type Runtime = readonly [command: string, ...options: ReadonlyArray<string>]

const decodeBaseline = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Runs a program that serves over HTTP until the scope closes. Returns the address that it prints on stderr. */
const start = Effect.fnUntraced(function* (runtime: Runtime, args: ReadonlyArray<string>) {
  const [command, ...options] = runtime
  const server = yield* ChildProcess.make(command, [...options, ...args], {
    stdin: "ignore",
    stdout: "ignore",
    forceKillAfter: "2 seconds"
  })
  const words = yield* Stream.toPull(Stream.splitLines(Stream.decodeText(server.stderr)))
  const [where] = yield* words
  // Keep reading, so that the program never blocks on its output.
  yield* Effect.forkScoped(Effect.ignore(Effect.forever(words)))
  const [url = ""] = /https?:\S+$/.exec(where) ?? []
  return url
})

const port = ["--port", "0"]

/** Starts the reference server, with a proxy in front of it if the leg has one. */
const serve = Effect.fnUntraced(function* ({ nodes, over = "http", proxied, revision }: Leg, runtime: Runtime) {
  if (nodes !== undefined) {
    return yield* start(runtime, [at("../../../nodes/test/support/cluster.ts"), "postgres", `${nodes}`])
  }
  const only = revision === undefined ? [] : ["--revision", revision]
  const url = yield* start(runtime, [`${reference}/server.ts`, `--${over}`, ...port, ...only])
  if (proxied !== true) return url
  return yield* start(runtime, [at("../../../cli/src/main.ts"), "proxy", "--http", ...port, "--", url])
})

/** Returns the address for the suite to connect to, or the command for it to start. */
const target = Effect.fnUntraced(function* (leg: Leg, runtime: Runtime) {
  return leg.side === "server"
    ? ["--url", yield* serve(leg, runtime)]
    : // The suite splits the command at spaces, so it runs in a directory without any. All clients are started at once, and a machine may have few cores.
      // All clients start at the same time, and the machine may have few cores.
      ["--command", [...runtime, "client.ts"].join(" "), "--timeout", "120000"]
})

/** Time limit for one run of a suite. */
const limit = "3 minutes"

/** Maximum number of a leg's scenarios that are run again. */
const maxAlone = 8

/** Runs a suite, which writes its results to the directory. */
const suite = Effect.fnUntraced(function* (leg: Leg, args: ReadonlyArray<string>, directory: string, cache: string) {
  const { exitCode } = yield* ChildProcess.make("node", [suites[leg.suite], leg.side, ...args, "-o", directory], {
    cwd: reference,
    // The suite starts dozens of processes at once. The cache compiles their modules only once.
    env: { NODE_COMPILE_CACHE: cache },
    extendEnv: true,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore"
  })
  yield* Effect.timeout(exitCode, limit)
  return yield* Effect.sync(() => Score.read(directory))
}, Effect.scoped)

/** Runs one leg. The suite's results stay in `output`. */
export const run = Effect.fnUntraced(function* (leg: Leg, output: string, runtime: Runtime) {
  const fs = yield* FileSystem.FileSystem
  const directory = `${output}/${leg.name}`
  yield* fs.remove(directory, { recursive: true, force: true })
  const baseline = yield* Effect.flatMap(
    fs.readFileString(at(`../../baseline/${leg.baseline ?? leg.name}.json`)),
    decodeBaseline
  )
  const where = yield* target(leg, runtime)
  const go = (args: ReadonlyArray<string>, name: string) =>
    suite(leg, [...where, ...args], `${directory}/${name}`, `${output}/cache`)
  const [duration, scenarios] = yield* Effect.timed(
    Effect.gen(function* () {
      const scenarios = new Map<string, Score.Scenario>()
      for (const args of leg.named?.map((name) => ["--scenario", name, ...leg.args]) ?? [leg.args]) {
        for (const [name, scenario] of yield* go(args, leg.named === undefined ? "all" : (args[1] ?? ""))) {
          scenarios.set(name, scenario)
        }
      }
      if (leg.side === "server") return scenarios
      // The suite runs all clients at once, which mostly tests the machine. If only a few scenarios fail, run them again one by one.
      const failing = [...scenarios.values()].filter(
        (scenario) => Score.problemOf(scenario) !== undefined && !Object.hasOwn(baseline, scenario.name)
      )
      for (const scenario of failing.slice(0, maxAlone)) {
        const alone = ["--scenario", scenario.name, "--spec-version", leg.revision ?? leg.args[1] ?? "", "--force"]
        const again = (yield* go(alone, `alone/${scenario.name}`)).get(scenario.name)
        if (again !== undefined) scenarios.set(scenario.name, again)
      }
      return scenarios
    })
  )
  return { leg, duration, ...Score.judge(scenarios, baseline, leg.scenarios) }
}, Effect.scoped)
