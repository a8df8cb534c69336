import type { McpClient } from "@effect-mcp/client"
import { Simulation } from "@effect-mcp/testing"
import { Console, Effect, Exit } from "effect"
import { features, Reserve, Seats } from "./seats.ts"

const reserves = (guest: string) => (client: McpClient.Client) =>
  Effect.map(
    client.callTool(Reserve, { seat: "12A", guest }),
    ({ reserved }) => reserved
  )

const theatre = {
  features,
  world: Seats.layer,
  clients: { alice: reserves("alice"), bob: reserves("bob") },
  // When both have ended, one of them has the seat.
  atEnd: ({ alice, bob }) => {
    const guests = [alice, bob].filter(
      (end) => end !== undefined && Exit.isSuccess(end) && end.value === true
    )
    return guests.length === 1
      ? Effect.void
      : Effect.fail(`${guests.length} guests have seat 12A`)
  }
} satisfies Simulation.App<Seats>

const program = Effect.gen(function* () {
  const found = yield* Effect.flip(Simulation.check(theatre))
  yield* Console.log(found.message)
})

await Effect.runPromise(program)
