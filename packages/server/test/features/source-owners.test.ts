/** The cached lists of mounted sources: per caller, bounded, and never containing a name that a client sent. */
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SourceOwners } from "../../src/features/SourceOwners.ts"

const user = (subject: string, ...scopes: ReadonlyArray<string>): Principal["Service"] => ({
  ...anonymous,
  subject,
  scopes
})

/** Looks up names in two sources, of which the second has the template `b:*` and `size` names. */
const make = (size: number) => {
  const names = new Set(Array.from({ length: size }, (_, n) => `name ${n}`))
  const state = { lists: 0 }
  const owners = new SourceOwners<string>({ version: 0, sources: ["a", "b"] })
  const list = (source: string) =>
    Effect.sync(() => {
      if (source === "a") return { names: new Set<string>() }
      state.lists++
      return { names, matches: (name: string) => name.startsWith("b:") }
    })
  const find = (name: string, caller: Principal["Service"]) =>
    Effect.provideService(owners.choose(name, Effect.succeed, list) ?? Effect.undefined, Principal, caller)
  return { find, state }
}

describe("Owners of mounted names", () => {
  it.effect("One list read finds the owner of every name that matches a template", () =>
    Effect.gen(function* () {
      const { find, state } = make(0)
      for (let n = 0; n < 1000; n++) assert.strictEqual(yield* find(`b:${n}`, user("one")), "b")
      assert.strictEqual(state.lists, 1)
    })
  )

  it.effect("Owners are looked up per subject and scope", () =>
    Effect.gen(function* () {
      const { find, state } = make(1)
      for (const caller of [user("one"), user("one"), user("two"), user("one", "admin")]) yield* find("name 0", caller)
      assert.strictEqual(state.lists, 3)
    })
  )

  it.effect("Owners are looked up per principal if it has no subject", () =>
    Effect.gen(function* () {
      const { find, state } = make(1)
      for (const caller of [anonymous, anonymous, { ...anonymous, claims: { tenant: "t" } }]) {
        yield* find("name 0", caller)
      }
      assert.strictEqual(state.lists, 2)
    })
  )

  it.effect("The lists of all callers share one limit", () =>
    Effect.gen(function* () {
      const { find, state } = make(60_000)
      const read = Effect.fnUntraced(function* (caller: Principal["Service"]) {
        yield* find("name 0", caller)
        return state.lists
      })
      assert.strictEqual(yield* read(user("one")), 1)
      assert.strictEqual(yield* read(user("two")), 2)
      assert.strictEqual(yield* read(user("two")), 2)
      assert.strictEqual(yield* read(user("one")), 3)
    })
  )
})
