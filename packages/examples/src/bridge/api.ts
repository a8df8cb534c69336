import { Effect, Schema } from "effect"
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup
} from "effect/http-api"

const Note = Schema.Struct({ id: Schema.Finite, text: Schema.String })
class NoSuchNote extends Schema.TaggedError<NoSuchNote>()(
  "NoSuchNote",
  { id: Schema.Finite },
  { httpApiStatus: 404 }
) {}

/** An ordinary `HttpApi`. */
export const Api = HttpApi.make("notes").add(
  HttpApiGroup.make("notes").add(
    HttpApiEndpoint.get("read", "/notes/:id", {
      params: { id: Schema.FiniteFromString },
      success: Note,
      error: NoSuchNote
    }),
    HttpApiEndpoint.post("write", "/notes", {
      payload: Schema.Struct({ text: Schema.String }),
      success: Note
    })
  )
)

export const handlers = HttpApiBuilder.group(Api, "notes", (group) =>
  group
    .handle("read", ({ params: { id } }) =>
      id === 1
        ? Effect.succeed({ id, text: "Buy milk" })
        : Effect.fail(new NoSuchNote({ id }))
    )
    .handle("write", ({ payload: { text } }) => Effect.succeed({ id: 2, text }))
)
