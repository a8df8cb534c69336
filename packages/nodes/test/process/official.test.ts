/** The official clients use three processes of the reference server behind a round robin like a single one. */
import { needs } from "@effect-mcp/spec/skip"
import { describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { connect, type Connector, Official } from "../../../interop/test/support/official.ts"
import { asking } from "../../../interop/test/support/official/asking.ts"
import { reading } from "../../../interop/test/support/official/reading.ts"
import { tools } from "../../../interop/test/support/official/tools.ts"
import { httpConnector as v1 } from "../../../interop/test/support/sdk-v1.ts"
import { httpConnector as v2 } from "../../../interop/test/support/sdk-v2.ts"
import { databases } from "../support/networks.ts"
import { robin, start } from "../support/robin.ts"

const sdks: ReadonlyArray<readonly [name: string, connector: (url: string) => Connector, notFound: number]> = [
  ["the TypeScript SDK v1 client", v1, -32002],
  ["the TypeScript SDK v2 client", v2, -32602]
]

for (const { missing, name, place } of databases) {
  describe(
    `Three nodes over ${name} behind a round-robin balancer`,
    needs(missing === undefined, missing ?? ""),
    () => {
      for (const [sdk, connector, notFound] of sdks) {
        const connected = Effect.gen(function* () {
          const at = yield* place
          const nodes = yield* Effect.all(
            Array.from({ length: 3 }, () => start(name, at, "reference")),
            { concurrency: "unbounded" }
          )
          const { url } = yield* robin(nodes)
          return yield* connect(connector(url))
        })
        layer(Layer.effect(Official, connected), { excludeTestServices: true })(`are driven by ${sdk}`, (it) => {
          tools(it, sdk)
          reading(it, notFound)
          asking(it)
        })
      }
    }
  )
}
