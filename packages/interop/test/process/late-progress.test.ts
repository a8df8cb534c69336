/**
 * The official clients drop progress that they read together with the answer; over stdio our answers arrive separately.
 */
import { assert, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { connector as v1 } from "../support/sdk-v1.ts"
import { connector as v2 } from "../support/sdk-v2.ts"

const server = fileURLToPath(import.meta.resolve("../fixtures/late-progress.ts"))

for (const [name, connector] of [
  ["The TypeScript SDK v1 client", v1],
  ["The TypeScript SDK v2 client", v2]
] as const) {
  it(`${name} sees progress sent right before the answer over stdio`, async () => {
    const client = await connector({ args: [server], answer: async () => ({}), notify: () => {} })
    let seen = 0
    for (let call = 0; call < 30; call++) await client.callTool("late", {}, { onprogress: () => seen++ })
    await client.close()
    // The system decides when a client reads which of the two writes. Written as one, none would be seen.
    assert.isAbove(seen, 0)
  })
}
