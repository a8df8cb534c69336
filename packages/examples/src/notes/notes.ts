/**
 * Notes per user. Handlers can read the authenticated caller and its scopes.
 */
import { Auth } from "@effect-mcp/auth"
import { Tool, Tools } from "@effect-mcp/core"
import { Context, Effect, Layer, Schema } from "effect"

/** The stored notes, by user. */
export class Notes extends Context.Service<
  Notes,
  {
    readonly add: (user: string, text: string) => Effect.Effect<number>
    readonly all: (user: string) => Effect.Effect<ReadonlyArray<string>>
  }
>()("examples/Notes") {
  static readonly layerMemory = Layer.sync(Notes, () => {
    const notes = new Map<string, ReadonlyArray<string>>()
    const of = (user: string) => notes.get(user) ?? []
    return {
      add: (user, text) =>
        Effect.sync(
          () => notes.set(user, [...of(user), text]).get(user)?.length ?? 0
        ),
      all: (user) => Effect.sync(() => of(user))
    }
  })
}

export const ListNotes = Tool.make("list_notes", {
  description: "Lists the notes of the user.",
  output: { notes: Schema.Array(Schema.String) }
})

export const AddNote = Tool.make("add_note", {
  description: "Adds a note, and says how many there are.",
  input: { text: Schema.String },
  output: { count: Schema.Int }
})

/**
 * Every user may read. Writing requires a scope that a client requests when it
 * first needs it.
 */
export const features = Layer.mergeAll(
  Tools.layer(ListNotes, () =>
    Effect.gen(function* () {
      const { subject } = yield* Auth.caller
      return { notes: yield* (yield* Notes).all(subject) }
    })
  ),
  Tools.layer(AddNote, ({ text }) =>
    Effect.gen(function* () {
      const { subject } = yield* Auth.caller
      return { count: yield* (yield* Notes).add(subject, text) }
    })
  ).pipe(Auth.requires("notes:write"))
)
