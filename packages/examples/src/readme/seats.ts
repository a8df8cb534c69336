import { Tool, Tools } from "@effect-mcp/core"
import { Context, Effect, Layer, Ref, Schema } from "effect"

type Held = ReadonlyMap<string, string>

/** The seats of a theatre that are held, and their guests. */
export class Seats extends Context.Service<Seats, Ref.Ref<Held>>()("Seats") {
  static readonly layer = Layer.effect(Seats, Ref.make<Held>(new Map()))
}

const input = { seat: Schema.String, guest: Schema.String }

export const Reserve = Tool.make("reserve", {
  description: "Reserves a seat that is free.",
  input,
  output: { reserved: Schema.Boolean }
})
export const Release = Tool.make("release", {
  description: "Gives a seat back.",
  input
})
export const Plan = Tool.make("plan", {
  description: "The seats that are held, with their guests.",
  output: { seats: Schema.Array(Schema.String) }
})

const reserve = Tools.layer(
  Reserve,
  Effect.fnUntraced(function* ({ guest, seat }) {
    const seats = yield* Seats
    const held = yield* Ref.get(seats)
    if (held.has(seat)) return { reserved: false }
    // Wrong: another guest may have reserved the seat since it was looked at.
    // `Ref.modify` does both at once.
    yield* Ref.update(seats, (all) => new Map(all).set(seat, guest))
    return { reserved: true }
  })
)

const release = Tools.layer(
  Release,
  Effect.fnUntraced(function* ({ guest, seat }) {
    const seats = yield* Seats
    yield* Ref.update(
      seats,
      (all) =>
        new Map(
          [...all].filter(([place, name]) => place !== seat || name !== guest)
        )
    )
    return "released"
  })
)

const plan = Tools.layer(
  Plan,
  Effect.fnUntraced(function* () {
    const held = yield* Ref.get(yield* Seats)
    return { seats: [...held].map(([seat, guest]) => `${seat}: ${guest}`) }
  })
)

/** All sessions share their state. */
export const features = Layer.mergeAll(reserve, release, plan)
