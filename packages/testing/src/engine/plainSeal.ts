/**
 * Seals the rounds' state without encryption, so that runs are comparable. The client receives the number of a state that the server keeps.
 */
import * as StateSeal from "@effect-mcp/server/StateSeal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const plainSeal: Layer.Layer<StateSeal.StateSeal> = Layer.sync(StateSeal.StateSeal, () => {
  const sealed = new Map<string, { readonly opened: StateSeal.Opened; readonly binding: string }>()
  return {
    seal: (journal, binding) =>
      Effect.sync(() => {
        const state = `state-${sealed.size + 1}`
        // Journals cross the wire as JSON in production.
        const opened = { journal: structuredClone(journal), jti: state, expires: Infinity }
        sealed.set(state, { binding, opened })
        return state
      }),
    open: (state, binding) =>
      Effect.suspend(() => {
        const found = sealed.get(state)
        return found?.binding === binding ? Effect.succeed(found.opened) : Effect.fail(StateSeal.invalidState())
      })
  }
})
