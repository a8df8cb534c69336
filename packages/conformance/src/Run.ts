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

/** The reference server, on a port of its own, for as long as the scope; gives its address. */
const serve = Effect.fnUntraced(function* (revision: string | undefined) {
  const only = revision === undefined ? [] : ["--revision", revision]
  const server = yield* ChildProcess.make("node", [`${everything}/server.ts`, "--http", "--port", "0", ...only], {
    stdin: "ignore",
    stdout: "ignore",
    forceKillAfter: "2 seconds"
  })
  const words = yield* Stream.toPull(Stream.splitLines(Stream.decodeText(server.stderr)))
  const [url] = yield* words
  // It may have more to say, and must not wait for us to hear it.
  yield* Effect.forkScoped(Effect.ignore(Effect.forever(words)))
  return url
})

/** The address that the suite talks to, or the command that it starts. */
const target = Effect.fnUntraced(function* ({ revision, side }: Leg) {
  return side === "server"
    ? ["--url", yield* serve(revision)]
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
