/**
 * Tools that the conformance suite calls, except those that ask the client (`asking.ts`).
 *
 * Names, texts and the JSON Schema below are the suite's.
 */
import { Content, Log, Progress, RequestContext, Tool, Tools } from "@effect-mcp/core"
import { Effect, Layer } from "effect"
import { png, wav } from "./media.ts"

const simpleText = Tools.layer(Tool.make("test_simple_text", { description: "Answers with one text." }), () =>
  Effect.succeed("This is a simple text response for testing.")
)

const image = Tools.layer(Tool.make("test_image_content", { description: "Answers with an image." }), () =>
  Effect.succeed(Content.image(png.data, png.mimeType))
)

const audio = Tools.layer(Tool.make("test_audio_content", { description: "Answers with a sound." }), () =>
  Effect.succeed(Content.audio(wav.data, wav.mimeType))
)

const embeddedResource = Tools.layer(
  Tool.make("test_embedded_resource", { description: "Answers with the contents of a resource." }),
  () =>
    Effect.succeed(
      Content.resource("test://embedded-resource", "This is an embedded resource content.", { mimeType: "text/plain" })
    )
)

const multipleContentTypes = Tools.layer(
  Tool.make("test_multiple_content_types", { description: "Answers with a text, an image and a resource." }),
  () =>
    Effect.succeed([
      Content.text("Multiple content types test:"),
      Content.image(png.data, png.mimeType),
      Content.resource("test://mixed-content-resource", JSON.stringify({ test: "data", value: 123 }), {
        mimeType: "application/json"
      })
    ])
)

/** Pause that the suite's clients need to tell two notifications apart. */
const pause = Effect.sleep("50 millis")

const withLogging = Tools.layer(
  Tool.make("test_tool_with_logging", { description: "Logs three times while it runs." }),
  Effect.fnUntraced(function* () {
    yield* Log.info("Tool execution started")
    yield* pause
    yield* Log.info("Tool processing data")
    yield* pause
    yield* Log.info("Tool execution completed")
    return "Logged three messages."
  })
)

const withProgress = Tools.layer(
  Tool.make("test_tool_with_progress", { description: "Reports its progress three times." }),
  Effect.fnUntraced(function* () {
    yield* Progress.report(0, { total: 100 })
    yield* pause
    yield* Progress.report(50, { total: 100 })
    yield* pause
    yield* Progress.report(100, { total: 100 })
    // The SDKs' clients lose progress that arrives in one chunk with the answer.
    yield* pause
    return "Reported progress up to 100."
  })
)

const errorHandling = Tools.layer(Tool.make("test_error_handling", { description: "Always fails." }), () =>
  Effect.fail(new Tools.ToolFailure({ message: "This tool intentionally returns an error for testing" }))
)

/** Disconnects the client if it can return for the answer. Otherwise this is an ordinary call. */
const reconnection = Tools.layer(
  Tool.make("test_reconnection", { description: "Ends the connection that waits for it, and answers later." }),
  Effect.fnUntraced(function* () {
    yield* pause
    const { closeStream } = yield* RequestContext.RequestContext
    closeStream("500 millis")
    yield* Effect.sleep("100 millis")
    return "The call survived."
  })
)

const jsonSchema = Tools.layer(
  Tool.raw("json_schema_2020_12_tool", {
    description: "Tool with JSON Schema 2020-12 features",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } }
        }
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" }
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false
    }
  }),
  (input) => Effect.succeed(`Received: ${JSON.stringify(input)}`)
)

export const tools = Layer.mergeAll(
  simpleText,
  image,
  audio,
  embeddedResource,
  multipleContentTypes,
  withLogging,
  withProgress,
  errorHandling,
  reconnection,
  jsonSchema
)
