/** Three nodes behind nginx that are restarted one after the other, while clients of all kinds call them. */
import { needs } from "@effect-mcp/spec/skip"
import { isNightly, scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { databases } from "../support/networks.ts"
import { kinds, rolled } from "../support/rolling.ts"

/** Each database with one way to serve. */
const stacks = { postgres: "router", redis: "listener" } as const

for (const { missing, name, place } of databases) {
  describe(
    `nodes over ${name} that are restarted in turn`,
    needs(
      missing === undefined && isNightly,
      missing ?? "npm run test:nightly: on a busy machine a call is still lost now and then"
    ),
    () => {
      it.live(
        "A rolling restart fails no call and runs none twice",
        () =>
          Effect.gen(function* () {
            const stack = name === "redis" ? stacks.redis : stacks.postgres
            const options = { kind: name, place: yield* place, stack, clients: Object.keys(kinds), callers: 5 }
            const { calls, codes, failed, twice } = yield* rolled({ ...options, rounds: scaled(1, 5) })
            assert.deepStrictEqual([failed, twice], [[], []], JSON.stringify(calls))
            assert.deepStrictEqual(new Set(codes), new Set([0]))
            assert.sameMembers(Object.keys(calls), Object.keys(kinds))
          }),
        120_000
      )
    }
  )
}
