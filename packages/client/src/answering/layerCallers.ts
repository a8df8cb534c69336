/** The services of a client that only forwards requests: its questions go to their callers (`ForwardedRequests`). */
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const unanswerable = Effect.fail(McpError.invalidRequest("There is no caller who could answer this"))

/**
 * Declares elicitation, sampling and roots in full, and answers none itself: for a client that only forwards requests. A question that
 * the caller did not declare is refused.
 */
export const layerCallers: Layer.Layer<Elicitation | Roots | Sampling> = Layer.succeedContext(
  Context.make(Elicitation, { modes: { form: true, url: true }, elicit: () => unanswerable }).pipe(
    Context.add(Sampling, { capabilities: { tools: true, context: true }, createMessage: () => unanswerable }),
    Context.add(Roots, { list: unanswerable, changes: undefined })
  )
)
