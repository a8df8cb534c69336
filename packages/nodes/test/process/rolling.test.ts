/** Restarts three nodes behind nginx one after another, while all kinds of clients call them. */
import { needs } from "@effect-mcp/spec/skip"
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hasNginx } from "../support/balancer.ts"
import { databases } from "../support/networks.ts"
import { kinds, type Options, rolled } from "../support/rolling.ts"

/** Each database, with one way to serve. */
const stacks = { postgres: "router", redis: "listener" } as const

const losesNothing = (options: Pick<Options, "kind" | "keepAlive" | "lameDuck" | "place">) =>
  Effect.gen(function* () {
    const stack = options.kind === "redis" ? stacks.redis : stacks.postgres
    const load = { stack, clients: Object.keys(kinds), callers: 5, rounds: scaled(1, 5) }
    const { calls, codes, failed, twice } = yield* rolled({ ...load, ...options })
    assert.deepStrictEqual([failed, twice], [[], []], JSON.stringify(calls))
    assert.deepStrictEqual(new Set(codes), new Set([0]))
    assert.sameMembers(Object.keys(calls), Object.keys(kinds))
  })

for (const { missing, name, place } of databases) {
  describe(`Rolling restarts over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live(
      "A rolling restart neither fails nor repeats a call",
      () => Effect.flatMap(place, (place) => losesNothing({ kind: name, place })),
      120_000
    )

    describe("Rolling restarts behind a keep-alive proxy", needs(hasNginx, "nginx is not installed"), () => {
      it.live(
        "A rolling restart with `lameDuck` neither fails nor repeats a call",
        () => Effect.flatMap(place, (place) => losesNothing({ kind: name, place, keepAlive: true, lameDuck: 2000 })),
        120_000
      )
    })
  })
}
