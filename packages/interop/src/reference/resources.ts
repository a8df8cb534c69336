/**
 * Resources of the reference server: text, bytes, a template with completion, and two that can be watched.
 *
 * URIs and contents are those that the conformance suite expects. `test://interruptions` shows which calls were cancelled.
 */
import { Completions, Resources } from "@effect-mcp/core"
import { Effect, Layer, Result, Stream, SubscriptionRef } from "effect"
import { Base64 } from "effect/encoding"
import { png } from "./media.ts"
import { State } from "./state.ts"

/** Emits an event for each change of a ref. The current value is not a change. */
const changesOf = <A>(select: (state: State["Service"]) => SubscriptionRef.SubscriptionRef<A>) =>
  Stream.unwrap(Effect.map(State, (state) => Stream.drop(SubscriptionRef.changes(select(state)), 1)))

const staticText = Resources.layer(
  {
    uri: "test://static-text",
    name: "static-text",
    title: "Static text",
    description: "A text that never changes.",
    mimeType: "text/plain"
  },
  Effect.succeed("This is the content of the static text resource.")
)

const staticBinary = Resources.layer(
  {
    uri: "test://static-binary",
    name: "static-binary",
    title: "Static image",
    description: "An image of one pixel.",
    mimeType: png.mimeType
  },
  Effect.sync(() => Result.getOrThrow(Base64.decode(png.data)))
)

const watched = Resources.layer(
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    title: "Watched resource",
    description: "Changes whenever the tool touch is called.",
    mimeType: "text/plain"
  },
  Effect.map(
    Effect.flatMap(State, (state) => SubscriptionRef.get(state.touched)),
    (times) => `Touched ${times} times.`
  ),
  changesOf((state) => state.touched)
)

const interruptions = Resources.layer(
  {
    uri: "test://interruptions",
    name: "interruptions",
    title: "Interruptions",
    description: "The labels of the slow calls that were interrupted, as a JSON array, oldest first.",
    mimeType: "application/json"
  },
  Effect.map(
    Effect.flatMap(State, (state) => SubscriptionRef.get(state.interruptions)),
    (labels) => JSON.stringify(labels)
  ),
  changesOf((state) => state.interruptions)
)

const template = Resources.layerTemplate(
  {
    uriTemplate: "test://template/{id}/data",
    name: "template",
    title: "Template",
    description: "Data about any id.",
    mimeType: "application/json",
    complete: { id: Completions.choices(["123", "124", "200"]) }
  },
  ({ id }) => Effect.succeed(JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }))
)

export const resources = Layer.mergeAll(staticText, staticBinary, watched, interruptions, template)
