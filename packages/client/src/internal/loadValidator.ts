/** Loads the validator of JSON Schemas: a client that calls tools by their contracts, and is asked nothing, starts without it. */
import type * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as Effect from "effect/Effect"

export const loadValidator: Effect.Effect<typeof JsonSchemaValidator> = Effect.promise(
  () => import("@effect-mcp/protocol/JsonSchemaValidator")
)
