/**
 * The one door from a running handler back to its client. `Elicitation`, `Sampling` and `Roots` are built on it.
 *
 * An interpreter decides how a question travels: `remote` asks over the open connection and waits; replay and durable ones live
 * beside the eras they belong to. What a question may be (capability, revision) is checked here, before any interpreter sees it.
 */
import type * as Method from "@effect-mcp/protocol/Method"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Closed, Timeout } from "./Peer.ts"

/** What a server may ask a client inside a request. */
export type Question = Exclude<keyof Method.ServerRequests, "ping">

/** The client did not declare what the question needs, or its revision has no such question. Never a wire message. */
export class CapabilityMissing extends Data.TaggedError("CapabilityMissing")<{
  /** The declaration that would be needed, dotted: `sampling.tools`. */
  readonly capability: string
  readonly message: string
}> {}

/** The user said no, or dismissed the question. */
export class Declined extends Data.TaggedError("Declined")<{
  readonly action: "decline" | "cancel"
  readonly message: string
}> {}

/** Everything that asking can end with, beside an answer and an error that the client sent. */
export type AskError = CapabilityMissing | Closed | Declined | Timeout

export class ClientInput extends Context.Service<
  ClientInput,
  {
    /** Params and answer are canonical; the interpreter encodes them for the client's revision. */
    readonly ask: <M extends Question>(
      method: M,
      params: Method.ServerRequests[M]["params"]
    ) => Effect.Effect<Method.ServerRequests[M]["result"], CapabilityMissing | Closed | Timeout | McpError>
    /** Runs `effect` at most once per logical request; a later round of the same request sees the recorded value. */
    readonly once: <A, E, R>(
      name: string,
      schema: Schema.Codec<A, unknown>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
  }
>()("@effect-mcp/core/ClientInput") {}
