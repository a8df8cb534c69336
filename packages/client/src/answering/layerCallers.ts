/** Services for a client that only forwards requests: questions go to their callers (`ForwardedRequests`). */
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const unanswerable = Effect.fail(
  McpError.invalidRequest("There is no running request whose caller could answer this question")
)

/**
 * Declares full support for elicitation, sampling and roots, but answers nothing itself. For clients that only forward requests. A question
 * that the caller did not declare is rejected.
 */
export const layerCallers: Layer.Layer<Elicitation | Roots | Sampling> = Layer.succeedContext(
  Context.make(Elicitation, { modes: { form: true, url: true }, elicit: () => unanswerable }).pipe(
    Context.add(Sampling, { capabilities: { tools: true, context: true }, createMessage: () => unanswerable }),
    Context.add(Roots, { list: unanswerable, changes: undefined })
  )
)
