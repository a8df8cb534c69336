/** Several observers of one server. */
import { combineObservers } from "@effect-mcp/server/internal/observing"
import type * as Observer from "@effect-mcp/server/Observer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TaskSources } from "../../src/request/TaskSource.ts"

const members = [
  "admit",
  "request",
  "question",
  "notification",
  "opened",
  "closed",
  "task",
  "taskRun",
  "drains",
  "refused",
  "carried"
] as const satisfies ReadonlyArray<keyof Observer.Observer>

const observerThat = (called: (member: string) => undefined): Observer.Observer =>
  Object.fromEntries([...members, "serves"].map((member) => [member, () => called(member)]))

const broken = new Error("broken")
const failing = observerThat(() => {
  throw broken
})

/** Twice an observer that throws before one that records its calls. */
const make = () => {
  const noted: Array<string> = []
  const noting = observerThat((member) => void noted.push(member))
  return { noted, all: combineObservers([failing, noting, failing, noting]) }
}

describe("Multiple observers", () => {
  it.each(members)("%s reaches every observer even if one throws, and then throws the first error", (member) => {
    const { all, noted } = make()
    const call = all?.[member]
    assert.throws(() => void (call && Reflect.apply(call, undefined, [])), broken)
    assert.deepStrictEqual(noted, [member, member])
  })

  it.effect("A failing observer does not keep others from starting, but fails the build", () =>
    Effect.gen(function* () {
      const { all, noted } = make()
      const exit = yield* Effect.exit(
        all?.serves?.({ sessions: new Set(), stateless: [], tasks: new TaskSources(), nodes: undefined }) ?? Effect.void
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(noted, ["serves", "serves"])
    }).pipe(Effect.scoped)
  )
})
