/** One session of each official client, so that `npm test` covers a foreign peer. The full suites are in `process/`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { toolNames } from "./support/names.ts"
import { connect, type Connector, Official } from "./support/official.ts"
import * as V1 from "./support/sdk-v1.ts"
import * as V2 from "./support/sdk-v2.ts"

const clients: ReadonlyArray<readonly [string, Connector]> = [
  ["v1", V1.connector],
  ["v2", V2.connector]
]

describe("Official clients", () => {
  it.live.each(clients)("The TypeScript SDK %s lists and calls tools over stdio", ([, connector]) =>
    Effect.gen(function* () {
      const { client } = yield* Official
      const tools = yield* Effect.promise(() => client.allTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        toolNames
      )
      const { structuredContent } = yield* Effect.promise(() => client.callTool("add", { a: 1, b: 2 }))
      assert.deepStrictEqual(structuredContent, { sum: 3 })
    }).pipe(Effect.provideServiceEffect(Official, connect(connector)), Effect.scoped)
  )
})
