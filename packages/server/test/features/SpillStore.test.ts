/** A store for large results that a feature registers. */
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as SpillStore from "@effect-mcp/server/SpillStore"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import { session } from "../support/raw.ts"
import { all, big, letters, read, uriOf } from "../support/spilling.ts"

/** A store that records its calls. */
const recording = () => {
  const results: Array<SpillStore.SpilledResult> = []
  const store: SpillStore.SpillStore = {
    put: (result) => Effect.sync(() => void results.push(result)),
    read: (id, owner, from, to) =>
      Effect.sync(() => {
        const result = results.find((one) => one.id === id && one.owner === owner)
        return result && { ...result, size: result.bytes.length, bytes: result.bytes.subarray(from, to) }
      })
  }
  return { results, features: SpillStore.layer(Effect.succeed(store)) }
}

const gone = new SpillStore.SpillUnavailable({ message: "gone" })
const failing = (error: Effect.Effect<never, SpillStore.SpillUnavailable>, reads = error) =>
  SpillStore.layer(Effect.succeed({ put: () => error, read: () => reads }))

/** Runs the test with the lines that it logs. */
const logging = <A, E, R>(test: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return Effect.provide(test(lines), Logger.layer([logger]))
}

describe("A registered store for large results", () => {
  it.effect("Receives results with their charge and time to live, and declares resources", () =>
    Effect.gen(function* () {
      const { features, results } = recording()
      const client = yield* session(Layer.merge(big(letters), features))
      assert.property(client.initialized.capabilities, "resources")
      const uri = uriOf(yield* client.call("big", { size: 1001 }))
      assert.strictEqual((yield* read(client, `${uri}?from=990`)).text, letters(1001).slice(990))
      const [{ charge, id, timeToLive } = assert.fail("no result")] = results
      assert.deepStrictEqual([uri, charge, timeToLive], [`result://${id}`, 1001 + 512, 600_000])
    })
  )

  it.effect("Receives no result that alone exceeds a limit, and none if spilling is off", () =>
    Effect.gen(function* () {
      for (const spill of [{ ...all, callerBytes: 1500 }, { ...all, totalBytes: 1500 }, false]) {
        const { features, results } = recording()
        const client = yield* session(Layer.merge(big(letters), features), {}, { limits: { spill } })
        assert.isTrue((yield* client.call("big", { size: 1001 })).isError)
        assert.lengthOf(results, 0)
      }
    })
  )

  it.effect("Failures and defects turn the result into an error and are logged", () =>
    logging((lines) =>
      Effect.gen(function* () {
        for (const error of [Effect.fail(gone), Effect.die("broken")]) {
          const client = yield* session(Layer.merge(big(letters), failing(error)))
          const { content, isError } = yield* client.call("big", { size: 1001 })
          assert.isTrue(isError)
          assert.include(content[0].text, "was omitted because it is too large: 1001 bytes, limit 1000")
          const { code, message } = yield* client.refused("resources/read", { uri: `result://${"a".repeat(43)}` })
          assert.strictEqual(code, McpError.Interrupted)
          assert.include(message, "cannot be read now, because its store is unavailable")
        }
        assert.lengthOf(
          lines.filter((line) => line === 'The large result of the tool "big" could not be kept'),
          2
        )
        assert.lengthOf(
          lines.filter((line) => line === "A kept result could not be read from its store"),
          2
        )
      })
    )
  )

  it.effect("Other resources are read without the store", () =>
    Effect.gen(function* () {
      const uri = `result://${"a".repeat(43)}`
      const own = Layer.mergeAll(
        Resources.layer({ uri: "result://now", name: "now" }, Effect.succeed("now")),
        Resources.layer({ uri, name: "own" }, Effect.succeed("own"))
      )
      const broken = failing(Effect.fail(gone))
      const client = yield* session(Layer.merge(own, broken))
      assert.strictEqual((yield* read(client, "result://now")).text, "now")
      const another = yield* session(Layer.merge(own, recording().features))
      assert.strictEqual((yield* read(another, uri)).text, "own")
    })
  )

  it.effect("A second store fails the build", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(session(Layer.merge(recording().features, recording().features)))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) assert.include(Cause.pretty(exit.cause), "already has a store for large results")
    })
  )
})
