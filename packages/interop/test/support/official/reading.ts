/** Resources, prompts, completion and logging. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"

import { type Notification, type Official } from "../official.ts"
import { call, failure, listening, updated, using } from "./calls.ts"

export const reading = (it: Vitest.MethodsNonLive<Official>, notFound: number): void => {
  it.effect("The SDK client lists and reads resources: text, bytes and template members", () =>
    Effect.gen(function* () {
      const { resources } = yield* using((client) => client.listResources())
      assert.deepStrictEqual(
        resources.map(({ uri }: { readonly uri: string }) => uri),
        [
          "test://static-text",
          "test://static-binary",
          "test://watched-resource",
          "test://interruptions",
          "skill://reference-tour/SKILL.md",
          "skill://reference-tutorials/questions/SKILL.md"
        ]
      )
      const { resourceTemplates } = yield* using((client) => client.listResourceTemplates())
      assert.deepStrictEqual(
        resourceTemplates.map(({ uriTemplate }: { readonly uriTemplate: string }) => uriTemplate),
        ["test://template/{id}/data", "skill://{+path}"]
      )
      const read = (uri: string) =>
        Effect.map(
          using((client) => client.readResource({ uri })),
          ({ contents }) => contents
        )
      assert.deepStrictEqual(yield* read("test://static-text"), [
        {
          uri: "test://static-text",
          mimeType: "text/plain",
          text: "This is the content of the static text resource."
        }
      ])
      const [binary] = yield* read("test://static-binary")
      assert.deepInclude(binary, { uri: "test://static-binary", mimeType: "image/png" })
      assert.strictEqual(Buffer.from(binary.blob, "base64").toString("latin1", 1, 4), "PNG")
      assert.deepStrictEqual(yield* read("test://template/123/data"), [
        {
          uri: "test://template/123/data",
          mimeType: "application/json",
          text: JSON.stringify({ id: "123", templateTest: true, data: "Data for ID: 123" })
        }
      ])
    })
  )

  it.effect(
    "The SDK client receives an error for a missing resource",
    () =>
      Effect.gen(function* () {
        const { code } = yield* failure(using((client) => client.readResource({ uri: "test://nowhere" })))
        assert.strictEqual(code, notFound)
      }),
    verifies("resources.read.not-found")
  )

  it.effect(
    "The SDK client receives updates only while subscribed",
    () =>
      Effect.gen(function* () {
        const uri = "test://watched-resource"
        const until = yield* listening
        yield* using((client) => client.subscribeResource({ uri }))
        yield* call("touch")
        yield* until(updated(uri))
        yield* using((client) => client.unsubscribeResource({ uri }))
        yield* call("touch")
        // Announcements keep their order, so one of another kind proves that the second touch was not announced.
        yield* call("grow", { name: "fence" })
        const seen = yield* until(({ method }) => method === "notifications/tools/list_changed")
        assert.deepStrictEqual(
          seen.map(({ method }) => method),
          ["notifications/tools/list_changed"]
        )
        assert.deepInclude(yield* call("grown_fence"), { content: [{ type: "text", text: "I am fence." }] })
      }),
    verifies("resources.updated.only-subscribed", "tools.list-changed.sent")
  )

  it.effect(
    "The SDK client lists and gets prompts, with arguments, a resource and an image",
    () =>
      Effect.gen(function* () {
        const { prompts } = yield* using((client) => client.listPrompts())
        assert.deepStrictEqual(
          prompts.map(({ name }: { readonly name: string }) => name),
          [
            "test_simple_prompt",
            "test_prompt_with_arguments",
            "test_prompt_with_embedded_resource",
            "test_prompt_with_image",
            "test_input_required_result_prompt"
          ]
        )
        assert.deepStrictEqual(prompts[1].arguments, [
          { name: "arg1", description: "First test argument", required: true },
          { name: "arg2", description: "Second test argument", required: true }
        ])
        const messages = (name: string, args?: { [name: string]: string }) =>
          Effect.map(
            using((client) => client.getPrompt(args === undefined ? { name } : { name, arguments: args })),
            (result): ReadonlyArray<any> => result.messages
          )
        assert.deepStrictEqual(yield* messages("test_simple_prompt"), [
          { role: "user", content: { type: "text", text: "This is a simple prompt for testing." } }
        ])
        const [substituted] = yield* messages("test_prompt_with_arguments", { arg1: "hello", arg2: "world" })
        assert.strictEqual(substituted.content.text, "Prompt with arguments: arg1='hello', arg2='world'")
        const [embedded] = yield* messages("test_prompt_with_embedded_resource", { resourceUri: "test://some" })
        assert.deepStrictEqual(embedded.content.resource, {
          uri: "test://some",
          mimeType: "text/plain",
          text: "Embedded resource content for testing."
        })
        const [image] = yield* messages("test_prompt_with_image")
        assert.deepInclude(image.content, { type: "image", mimeType: "image/png" })
      }),
    verifies("prompts.content.image", "prompts.content.resource-uri", "prompts.content.resource-contents")
  )

  it.effect(
    "The SDK client receives a clear error for an invalid prompt request",
    () =>
      Effect.gen(function* () {
        const get = (name: string) => failure(using((client) => client.getPrompt({ name })))
        assert.strictEqual((yield* get("no_such_prompt")).code, -32602)
        const missing = yield* get("test_prompt_with_arguments")
        assert.strictEqual(missing.code, -32602)
        assert.match(missing.message, /arg1/)
      }),
    verifies("prompts.get.unknown", "prompts.get.missing-argument", "prompts.get.arguments-validated")
  )

  it.effect(
    "The SDK client completes prompt and template arguments, using the given arguments",
    () =>
      Effect.gen(function* () {
        const complete = (ref: object, name: string, value: string, settled?: object) =>
          Effect.map(
            using((client) =>
              client.complete({
                ref,
                argument: { name, value },
                ...(settled === undefined ? undefined : { context: { arguments: settled } })
              })
            ),
            ({ completion }) => completion
          )
        const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" }
        assert.deepStrictEqual(yield* complete(prompt, "arg1", "test"), {
          values: ["testing", "testValue1"],
          total: 2,
          hasMore: false
        })
        assert.deepStrictEqual((yield* complete(prompt, "arg2", "x", { arg1: "y" })).values, ["x after y"])
        const template = { type: "ref/resource", uri: "test://template/{id}/data" }
        assert.deepStrictEqual((yield* complete(template, "id", "12")).values, ["123", "124"])
        const unknown = yield* failure(complete({ type: "ref/prompt", name: "no_such_prompt" }, "x", ""))
        assert.strictEqual(unknown.code, -32602)
      }),
    verifies("completion.error.unknown-prompt")
  )

  it.effect(
    "The SDK client receives only log messages at its level and above",
    () =>
      Effect.gen(function* () {
        const until = yield* listening
        const isLast = ({ params }: Notification) => params?.level === "emergency"
        const levels = Effect.gen(function* () {
          yield* call("log", { message: "hello" })
          const seen = yield* until(isLast)
          for (const { method, params } of seen) {
            assert.strictEqual(method, "notifications/message")
            assert.deepInclude(params, { data: "hello", logger: "everything" })
          }
          return seen.map(({ params }) => params.level)
        })
        yield* using((client) => client.setLoggingLevel("debug"))
        const all = yield* levels
        assert.deepStrictEqual(all, ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"])
        yield* using((client) => client.setLoggingLevel("critical"))
        assert.deepStrictEqual(yield* levels, ["critical", "alert", "emergency"])
        yield* using((client) => client.setLoggingLevel("info"))
        yield* call("test_tool_with_logging")
        const told = yield* until(({ params }) => params?.data === "Tool execution completed")
        assert.deepStrictEqual(
          told.map(({ params }) => params.data),
          ["Tool execution started", "Tool processing data", "Tool execution completed"]
        )
      }),
    verifies("logging.level.threshold")
  )
}
