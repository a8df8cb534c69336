/** This project's server under torture: handlers with every kind of question are cancelled, disconnected and refused at each step. */
import { Elicitation, Roots, Sampling } from "@effect-mcp/core"
import { Torture } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Bookings, BookTable, features, Folders, Greet, Think } from "../features.ts"

const world = Layer.mergeAll(
  Bookings.layerTest,
  Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }),
  Sampling.layer(() =>
    Effect.succeed({ role: "assistant", content: { type: "text", text: "4" }, model: "test" } as const)
  ),
  Roots.layerStatic([{ uri: "file:///a" }])
)

const bookTable = Torture.tool(features, BookTable, { restaurant: "Maaemo", guests: 2 })
const calls = [
  ["asks for consent", bookTable],
  ["asks for a form", Torture.tool(features, Greet, {})],
  ["asks a model", Torture.tool(features, Think, { about: "2 + 2" })],
  ["asks for folders", Torture.tool(features, Folders, {})]
] as const

describe("Server under torture", () => {
  it.effect.each(calls)("A handler that %s leaves nothing behind", ([, subject]) =>
    Effect.gen(function* () {
      const { rows, runs } = yield* Torture.run(subject, world, { fails: [Torture.failing(Bookings)], maxPlaces: 50 })
      assert.isAbove(runs.length, 100)
      assert.isTrue(runs.every(({ struck }) => struck))
      assert.isTrue(rows.some(({ fault }) => fault === "answered"))
    })
  )
})
