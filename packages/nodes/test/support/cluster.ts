/** Several nodes of the reference server behind a round robin: `cluster.ts KIND COUNT`. Prints the address on stderr. */
import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { databases } from "./networks.ts"
import { robin, start } from "./robin.ts"

const [kind = "postgres", count = "2"] = process.argv.slice(2)

const serve = Effect.gen(function* () {
  const network = databases.find(({ name }) => name === kind)
  if (network === undefined || network.missing !== undefined) {
    return yield* Effect.die(new Error(network?.missing ?? `There are no nodes over ${kind}: give postgres or redis`))
  }
  const place = yield* network.place
  // The first one creates the tables. Others would wait for it.
  const nodes = yield* Effect.forEach(Array.from({ length: Number(count) }), () => start(kind, place, "reference"))
  const { url } = yield* robin(nodes)
  process.stderr.write(`${count} nodes over ${kind} are at ${url}\n`)
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(serve))
