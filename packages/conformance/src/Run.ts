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
const decodeBaseline = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** A program that serves over HTTP, for as long as the scope; gives the address that it says on stderr. */
const start = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const server = yield* ChildProcess.make("node", args, {
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

const port = ["--http", "--port", "0"]

/** The reference server, with a proxy before it if the leg has one. */
const serve = Effect.fnUntraced(function* ({ proxied, revision }: Leg) {
  const only = revision === undefined ? [] : ["--revision", revision]
  const url = yield* start([`${everything}/server.ts`, ...port, ...only])
  return proxied === true ? yield* start([at("../../cli/src/main.ts"), "proxy", ...port, "--", url]) : url
})

/** The address that the suite talks to, or the command that it starts. */
const target = Effect.fnUntraced(function* (leg: Leg) {
  return leg.side === "server"
    ? ["--url", yield* serve(leg)]
    : // The suite splits the command at blanks: it is run where paths have none.
      ["--command", "node src/client.ts"]
})

/** How long one leg may take. */
const limit = "3 minutes"

export const run = Effect.fnUntraced(function* (leg: Leg, output: string) {
  const fs = yield* FileSystem.FileSystem
  const directory = `${output}/${leg.name}`
  yield* fs.remove(directory, { recursive: true, force: true })
  yield* fs.makeDirectory(directory, { recursive: true })
  const baseline = yield* Effect.flatMap(fs.readFileString(at(`../baseline/${leg.name}.json`)), decodeBaseline)
  const args = [suites[leg.suite], leg.side, ...(yield* target(leg)), ...leg.args, "-o", directory]
  const [duration] = yield* Effect.timed(
    Effect.timeout(
      Effect.scoped(
        Effect.flatMap(
          ChildProcess.make("node", args, {
            cwd: at("../../everything"),
            stdin: "ignore",
            stdout: "ignore",
            stderr: "ignore"
          }),
          ({ exitCode }) => exitCode
        )
      ),
      limit
    )
  )
  const scenarios = yield* Effect.sync(() => Score.read(directory))
  return { leg, duration, ...Score.judge(scenarios, baseline, leg.scenarios) }
}, Effect.scoped)
