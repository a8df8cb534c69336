/** A bank with a race: a transfer reads both balances before it writes them. */
import { Tool, Tools } from "@effect-mcp/core"
import type { McpClient } from "@effect-mcp/client"
import type { Simulation } from "@effect-mcp/testing"
import { Context, Effect, Layer, Ref, Schema, Semaphore } from "effect"

export class Accounts extends Context.Service<Accounts, Ref.Ref<Readonly<Record<string, number>>>>()("test/Accounts") {
  static readonly layer = Layer.effect(Accounts, Ref.make<Readonly<Record<string, number>>>({ alice: 50, bob: 50 }))
}

const Transfer = Tool.make("transfer", {
  description: "Moves money.",
  input: { from: Schema.String, to: Schema.String, amount: Schema.Int }
})

const transfer = (from: string, to: string, amount: number) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const { [from]: rich = 0, [to]: poor = 0 } = yield* Ref.get(accounts)
    yield* Ref.update(accounts, (all) => ({ ...all, [from]: rich - amount, [to]: poor + amount }))
    return "moved"
  })

const racy = Tools.layer(Transfer, ({ amount, from, to }) => transfer(from, to, amount))
const locked = Layer.unwrap(
  Effect.map(Semaphore.make(1), (semaphore) =>
    Tools.layer(Transfer, ({ amount, from, to }) => semaphore.withPermit(transfer(from, to, amount)))
  )
)

const program =
  (from: string, to: string) =>
  (client: McpClient.Client): Effect.Effect<unknown, unknown> =>
    Effect.forEach([1, 2, 3], (amount) => client.callTool(Transfer, { from, to, amount }))

/** Both clients move the same amounts, so both accounts are as before. */
const unchanged = Effect.flatMap(Accounts, (accounts) =>
  Effect.flatMap(Ref.get(accounts), ({ alice, bob }) =>
    alice === 50 && bob === 50 ? Effect.void : Effect.fail(`alice has ${alice}, bob has ${bob}`)
  )
)

export const bank = (features: "racy" | "locked"): Simulation.App<Accounts> => ({
  features: features === "racy" ? racy : locked,
  world: Accounts.layer,
  clients: { alice: program("alice", "bob"), bob: program("bob", "alice") },
  atEnd: () => unchanged
})
