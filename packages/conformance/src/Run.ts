/** Runs one leg: starts what it needs, lets the suite write its results down, reads and judges them. */
import { Effect, FileSystem, Schema, Stream } from "effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { fileURLToPath } from "node:url"
import type { Leg } from "./Leg.ts"
import * as Score from "./Score.ts"

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const everything = at("../../everything/src")
const suites: { readonly [version in Leg["suite"]]: string } = {
  "0.1.16": at("../node_modules/@modelcontextprotocol/conformance-0.1/dist/index.js"),
  "0.2.0-alpha.12": at("../node_modules/@modelcontextprotocol/conformance/dist/index.js")
}
/** What runs our programs, TypeScript as it is: a command and its options. */
export type Runtime = readonly [command: string, ...options: ReadonlyArray<string>]

const decodeBaseline = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** A program that serves over HTTP, for as long as the scope; gives the address that it says on stderr. */
const start = Effect.fnUntraced(function* (runtime: Runtime, args: ReadonlyArray<string>) {
  const [command, ...options] = runtime
  const server = yield* ChildProcess.make(command, [...options, ...args], {
    stdin: "ignore",
    stdout: "ignore",
    forceKillAfter: "2 seconds"
  })
  const words = yield* Stream.toPull(Stream.splitLines(Stream.decodeText(server.stderr)))
  const [where] = yield* words
  // It may have more to say, and must not wait for us to hear it.
  yield* Effect.forkScoped(Effect.ignore(Effect.forever(words)))
  const [url = ""] = /https?:\S+$/.exec(where) ?? []
  return url
})

const port = ["--port", "0"]

/** The reference server, with a proxy before it if the leg has one. */
const serve = Effect.fnUntraced(function* ({ nodes, over = "http", proxied, revision }: Leg, runtime: Runtime) {
  if (nodes !== undefined) {
    return yield* start(runtime, [at("../../nodes/test/support/cluster.ts"), "postgres", `${nodes}`])
  }
  const only = revision === undefined ? [] : ["--revision", revision]
  const url = yield* start(runtime, [`${everything}/server.ts`, `--${over}`, ...port, ...only])
  if (proxied !== true) return url
  return yield* start(runtime, [at("../../cli/src/main.ts"), "proxy", "--http", ...port, "--", url])
})

/** The address that the suite talks to, or the command that it starts. */
const target = Effect.fnUntraced(function* (leg: Leg, runtime: Runtime) {
  return leg.side === "server"
    ? ["--url", yield* serve(leg, runtime)]
    : // The suite splits the command at blanks: it is run where paths have none.
      // All clients are started at once, and a machine may have few cores.
      ["--command", [...runtime, "client.ts"].join(" "), "--timeout", "120000"]
})

/** How long one run of a suite may take. */
const limit = "3 minutes"

/** Scenarios of one leg that are run once more, at most. */
const maxAlone = 8

/** Runs a suite, which writes what it finds to the directory. */
const suite = Effect.fnUntraced(function* (leg: Leg, args: ReadonlyArray<string>, directory: string, cache: string) {
  const { exitCode } = yield* ChildProcess.make("node", [suites[leg.suite], leg.side, ...args, "-o", directory], {
    cwd: everything,
    // It starts dozens of processes at once: what they load is compiled once.
    env: { NODE_COMPILE_CACHE: cache },
    extendEnv: true,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore"
  })
  yield* Effect.timeout(exitCode, limit)
  return yield* Effect.sync(() => Score.read(directory))
}, Effect.scoped)

/** Runs one leg; what the suite wrote stays in `output`. */
export const run = Effect.fnUntraced(function* (leg: Leg, output: string, runtime: Runtime) {
  const fs = yield* FileSystem.FileSystem
  const directory = `${output}/${leg.name}`
  yield* fs.remove(directory, { recursive: true, force: true })
  const baseline = yield* Effect.flatMap(
    fs.readFileString(at(`../baseline/${leg.baseline ?? leg.name}.json`)),
    decodeBaseline
  )
  const where = yield* target(leg, runtime)
  const go = (args: ReadonlyArray<string>, name: string) =>
    suite(leg, [...where, ...args], `${directory}/${name}`, `${output}/cache`)
  const [duration, scenarios] = yield* Effect.timed(
    Effect.gen(function* () {
      const scenarios = new Map<string, Score.Scenario>()
      for (const args of leg.named?.map((name) => ["--scenario", name]) ?? [leg.args]) {
        for (const [name, scenario] of yield* go(args, leg.named === undefined ? "all" : (args[1] ?? ""))) {
          scenarios.set(name, scenario)
        }
      }
      if (leg.side === "server") return scenarios
      // All clients run at once there, which is a test of the machine: what fails, if it is little, is run once more by itself.
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
