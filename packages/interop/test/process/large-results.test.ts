/** The official clients read results that are too large to send at once, range by range. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { Connector } from "../support/official.ts"
import * as V1 from "../support/sdk-v1.ts"
import * as V2 from "../support/sdk-v2.ts"

const file = fileURLToPath(new URL("../fixtures/large-server.ts", import.meta.url))
const bytes = 5 * 1024 * 1024
const letters = "abcdefghij".repeat(bytes / 10)

const opened = (connector: Connector) =>
  Effect.acquireRelease(
    Effect.promise(() => connector({ args: [file], notify: () => {}, answer: () => assert.fail("asked") })),
    (client) => Effect.promise(() => client.close())
  )

describe.each<readonly [string, Connector]>([
  ["v1", V1.connector],
  ["v2", V2.connector]
])("The TypeScript SDK %s client", (_name, connector) => {
  it.live.each<readonly [string, boolean, string]>([
    ["text", false, letters],
    ["image", false, Buffer.alloc(bytes, 7).toString("latin1")],
    ["structured", true, JSON.stringify({ letters })]
  ])("The SDK client reads a result of %s in ranges", ([tool, fails, whole]) =>
    Effect.gen(function* () {
      const client = yield* opened(connector)
      const { content, isError = false }: any = yield* Effect.promise(() => client.callTool(tool))
      assert.strictEqual(isError, fails)
      const [preview, link] = content
      assert.strictEqual(link.type, "resource_link")
      assert.include(preview.text, link.uri)
      assert.isBelow(preview.text.length, 4096)
      assert.strictEqual(link.size, whole.length)
      let read = ""
      for (let next: string | undefined = link.uri; next !== undefined;) {
        const { contents }: any = yield* Effect.promise(() => client.readResource({ uri: next ?? "" }))
        read += contents[0].text ?? Buffer.from(contents[0].blob, "base64").toString("latin1")
        next = contents[0]._meta["effect-mcp/next"]
      }
      assert.isTrue(read === whole)
    })
  )
})
