/**
 * Prompts of the reference server: plain, with arguments and their completion, with a resource, and with an image.
 *
 * Names and texts are those that the conformance suite expects.
 */
import { Completions, Content, Prompt, Prompts } from "@effect-mcp/core"
import { Effect, Layer, Schema } from "effect"
import { png } from "./media.ts"

const argument = (description: string) => Schema.String.annotate({ description })

const simple = Prompts.layer(
  Prompt.make("test_simple_prompt", { title: "Simple prompt", description: "A prompt without arguments." }),
  () => Effect.succeed("This is a simple prompt for testing.")
)

const withArguments = Prompts.layer(
  Prompt.make("test_prompt_with_arguments", {
    title: "Prompt with arguments",
    description: "A prompt with two required arguments.",
    arguments: { arg1: argument("First test argument"), arg2: argument("Second test argument") }
  }),
  ({ arg1, arg2 }) => Effect.succeed(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  {
    complete: {
      arg1: Completions.choices(["testing", "testValue1", "other"]),
      arg2: (value: string, others: { readonly [argument: string]: string }) =>
        Effect.succeed([`${value} after ${others["arg1"] ?? "nothing"}`])
    }
  }
)

const withResource = Prompts.layer(
  Prompt.make("test_prompt_with_embedded_resource", {
    title: "Prompt with a resource",
    description: "A prompt that embeds a resource.",
    arguments: { resourceUri: argument("URI of the resource to embed") }
  }),
  ({ resourceUri }) =>
    Effect.succeed([
      Prompts.user(Content.resource(resourceUri, "Embedded resource content for testing.", { mimeType: "text/plain" })),
      Prompts.user("Please process the embedded resource above.")
    ])
)

const withImage = Prompts.layer(
  Prompt.make("test_prompt_with_image", {
    title: "Prompt with an image",
    description: "A prompt that shows an image."
  }),
  () =>
    Effect.succeed([
      Prompts.user(Content.image(png.data, png.mimeType)),
      Prompts.user("Please analyze the image above.")
    ])
)

export const prompts = Layer.mergeAll(simple, withArguments, withResource, withImage)
