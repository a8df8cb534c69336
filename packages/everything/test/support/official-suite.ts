/** Every feature of the reference server, as an official client sees it: one body for every such client. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, layer } from "@effect/vitest"
import { type Cause, Effect, Layer, PubSub } from "effect"
import { toolNames } from "./names.ts"
import { connect, type Connector, type Notification, Official, type OfficialClient } from "./official.ts"

const timeout = 20_000

const using = <A>(f: (client: OfficialClient) => Promise<A>): Effect.Effect<A, Cause.UnknownError, Official> =>
  Effect.flatMap(Official, ({ client }) => Effect.tryPromise(() => f(client)))

const call = (name: string, args?: object) => using((client) => client.callTool(name, args))

/** The code of the protocol error that a promise was rejected with. */
const failure = <A>(effect: Effect.Effect<A, Cause.UnknownError, Official>) =>
  Effect.map(Effect.flip(effect), ({ cause }) => ({
    code: (cause as { readonly code?: unknown }).code,
    message: (cause as Error).message
  }))

const answering = (question: "sampling/createMessage" | "elicitation/create" | "roots/list", f: (params: any) => any) =>
  Effect.map(Official, ({ answers }) => void answers.set(question, f))

/** Subscribes to notifications now; the effect it gives waits for one that fits, and answers it with those before it. */
const listening = Effect.map(
  Effect.flatMap(Official, ({ notifications }) => PubSub.subscribe(notifications)),
  (subscription) =>
    (fits: (notification: Notification) => boolean): Effect.Effect<ReadonlyArray<Notification>> =>
      Effect.gen(function* () {
        const seen: Array<Notification> = []
        for (;;) {
          const next = yield* PubSub.take(subscription)
          seen.push(next)
          if (fits(next)) return seen
        }
      })
)
const updated = (uri: string) => (notification: Notification) =>
  notification.method === "notifications/resources/updated" && notification.params.uri === uri

export interface Traits {
  /** What its errors say when the server answers -32002. */
  readonly notFound: number
}

export const suite = (name: string, connector: Connector, { notFound }: Traits) =>
  describe(`${name} drives the reference server`, () => {
    layer(Layer.effect(Official, connect(connector)), { timeout, excludeTestServices: true })("over stdio", (it) => {
      it.effect(
        `learns who the server is and what it offers${verifies("lifecycle.initialize.response", "tools.capability.declared", "resources.capability.declared", "prompts.capability.declared", "completion.capability.declared", "logging.capability.declared")}`,
        () =>
          Effect.gen(function* () {
            const { client } = yield* Official
            assert.deepStrictEqual(client.getServerVersion(), {
              name: "effect-mcp-everything",
              version: "0.1.0",
              title: "Everything",
              description: "The reference server of effect-mcp."
            })
            assert.match(client.getInstructions() ?? "", /every feature of the protocol/)
            assert.deepStrictEqual(client.getServerCapabilities(), {
              logging: {},
              tools: { listChanged: true },
              resources: { listChanged: true, subscribe: true },
              prompts: { listChanged: true },
              completions: {}
            })
          })
      )

      it.effect(`gets an empty answer to a ping${verifies("ping.receiver.empty-response")}`, () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* using((client) => client.ping()), {})
        })
      )

      it.effect(
        `lists every tool, and a foreign input schema verbatim${verifies("tools.definition.input-schema-object", "tools.definition.no-parameters", "tools.name.unique")}`,
        () =>
          Effect.gen(function* () {
            const tools = yield* using((client) => client.allTools())
            assert.deepStrictEqual(
              tools.map(({ name }) => name).filter((name) => !name.startsWith("grown_")),
              toolNames
            )
            const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema
            assert.deepStrictEqual(schemaOf("test_simple_text"), { type: "object", additionalProperties: false })
            assert.deepStrictEqual(schemaOf("json_schema_2020_12_tool"), {
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
              then: { required: ["phone"] },
              else: { required: ["email"] },
              additionalProperties: false
            })
          })
      )

      it.effect("gets every kind of content, also when it sends no arguments at all", () =>
        Effect.gen(function* () {
          const contents = (name: string) => Effect.map(call(name), (result) => result.content)
          assert.deepStrictEqual(yield* contents("test_simple_text"), [
            { type: "text", text: "This is a simple text response for testing." }
          ])
          const [image] = yield* contents("test_image_content")
          assert.deepInclude(image, { type: "image", mimeType: "image/png" })
          assert.strictEqual(Buffer.from(image.data, "base64").toString("latin1", 1, 4), "PNG")
          const [audio] = yield* contents("test_audio_content")
          assert.deepInclude(audio, { type: "audio", mimeType: "audio/wav" })
          assert.strictEqual(Buffer.from(audio.data, "base64").toString("latin1", 8, 12), "WAVE")
          assert.deepStrictEqual(yield* contents("test_embedded_resource"), [
            {
              type: "resource",
              resource: {
                uri: "test://embedded-resource",
                mimeType: "text/plain",
                text: "This is an embedded resource content."
              }
            }
          ])
          const mixed: ReadonlyArray<{ readonly type: string }> = yield* contents("test_multiple_content_types")
          assert.deepStrictEqual(
            mixed.map(({ type }) => type),
            ["text", "image", "resource"]
          )
        })
      )

      it.effect(
        `gets a structured result together with its text${verifies("tools.result.structured-text-mirror", "tools.result.structured-conforms")}`,
        () =>
          Effect.gen(function* () {
            // Clients check results against the schemas that they have listed.
            yield* using((client) => client.allTools())
            const { structuredContent, content } = yield* call("add", { a: 1.5, b: 2 })
            assert.deepStrictEqual(structuredContent, { sum: 3.5 })
            assert.deepStrictEqual(JSON.parse(content[0].text), { sum: 3.5 })
          })
      )

      it.effect("gets a megabyte in one piece", () =>
        Effect.gen(function* () {
          const { content } = yield* call("big", { bytes: 1_000_000 })
          assert.strictEqual(content[0].text.length, 1_000_000)
        })
      )

      it.effect(`gets its own answers to a hundred calls at once${verifies("json-rpc.response.same-id")}`, () =>
        Effect.gen(function* () {
          const messages = Array.from({ length: 100 }, (_, i) => `call ${i}`)
          const results = yield* Effect.forEach(messages, (message) => call("echo", { message }), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(
            results.map(({ content }) => content[0].text),
            messages
          )
        })
      )

      it.effect(
        `learns of a failing tool in the result, and of what is no result by an error${verifies("tools.call.error-in-result", "tools.call.unknown-tool", "tools.call.invalid-input-in-result", "tools.security.input-validated", "json-rpc.error.code-and-message")}`,
        () =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* call("test_error_handling"), {
              content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
              isError: true
            })
            assert.deepInclude(yield* call("fail", { as: "tool" }), { isError: true })
            assert.deepInclude(yield* call("echo", { message: 1 }), { isError: true })
            assert.strictEqual((yield* failure(call("fail", { as: "protocol" }))).code, -32602)
            assert.strictEqual((yield* failure(call("no_such_tool"))).code, -32602)
            const defect = yield* failure(call("fail", { as: "defect" }))
            assert.strictEqual(defect.code, -32603)
            assert.notMatch(defect.message, /inside/)
          })
      )

      it.effect(
        `is told of the progress of a call it asked progress for${verifies("progress.value.increases", "progress.token.from-active-request")}`,
        () =>
          Effect.gen(function* () {
            const events: Array<unknown> = []
            const result = yield* using((client) =>
              client.callTool("test_tool_with_progress", {}, { onprogress: (event) => void events.push(event) })
            )
            assert.deepStrictEqual(
              events.map((event) => ({ ...(event as object) })),
              [0, 50, 100].map((progress) => ({ progress, total: 100 }))
            )
            assert.notStrictEqual(result.isError, true)
          })
      )

      it.effect(
        `cancels a call: its handler is interrupted, its finalizer runs, no answer comes${verifies("cancellation.receiver.stops", "cancellation.receiver.frees-resources")}`,
        () =>
          Effect.gen(function* () {
            const uri = "test://interruptions"
            const until = yield* listening
            yield* using((client) => client.subscribeResource({ uri }))
            const aborter = new AbortController()
            const cancelled = yield* Effect.flip(
              using((client) =>
                client.callTool(
                  "slow",
                  { label: `${name} gave up` },
                  {
                    signal: aborter.signal,
                    onprogress: () => aborter.abort("enough")
                  }
                )
              )
            )
            assert.match(String(cancelled.cause), /enough/)
            yield* until(updated(uri))
            const { contents } = yield* using((client) => client.readResource({ uri }))
            assert.deepStrictEqual(JSON.parse(contents[0].text), [`${name} gave up`])
          })
      )

      it.effect("lists and reads resources: text, bytes, members of a template", () =>
        Effect.gen(function* () {
          const { resources } = yield* using((client) => client.listResources())
          assert.deepStrictEqual(
            resources.map(({ uri }: { readonly uri: string }) => uri),
            ["test://static-text", "test://static-binary", "test://watched-resource", "test://interruptions"]
          )
          const { resourceTemplates } = yield* using((client) => client.listResourceTemplates())
          assert.deepStrictEqual(
            resourceTemplates.map(({ uriTemplate }: { readonly uriTemplate: string }) => uriTemplate),
            ["test://template/{id}/data"]
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

      it.effect(`learns that a resource does not exist${verifies("resources.read.not-found")}`, () =>
        Effect.gen(function* () {
          const { code } = yield* failure(using((client) => client.readResource({ uri: "test://nowhere" })))
          assert.strictEqual(code, notFound)
        })
      )

      it.effect(
        `hears of updates while it subscribes, and not afterwards${verifies("resources.updated.only-subscribed", "tools.list-changed.sent")}`,
        () =>
          Effect.gen(function* () {
            const uri = "test://watched-resource"
            const until = yield* listening
            yield* using((client) => client.subscribeResource({ uri }))
            yield* call("touch")
            yield* until(updated(uri))
            yield* using((client) => client.unsubscribeResource({ uri }))
            yield* call("touch")
            // Announcements keep their order: one of another kind proves that the second touch was not announced.
            yield* call("grow", { name: "fence" })
            const seen = yield* until(({ method }) => method === "notifications/tools/list_changed")
            assert.deepStrictEqual(
              seen.map(({ method }) => method),
              ["notifications/tools/list_changed"]
            )
            assert.deepInclude(yield* call("grown_fence"), { content: [{ type: "text", text: "I am fence." }] })
          })
      )

      it.effect(
        `lists prompts and gets them, with arguments, a resource and an image${verifies("prompts.content.image", "prompts.content.resource-uri", "prompts.content.resource-contents")}`,
        () =>
          Effect.gen(function* () {
            const { prompts } = yield* using((client) => client.listPrompts())
            assert.deepStrictEqual(
              prompts.map(({ name }: { readonly name: string }) => name),
              [
                "test_simple_prompt",
                "test_prompt_with_arguments",
                "test_prompt_with_embedded_resource",
                "test_prompt_with_image"
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
          })
      )

      it.effect(
        `learns what is wrong with a prompt it asks for${verifies("prompts.get.unknown", "prompts.get.missing-argument", "prompts.get.arguments-validated")}`,
        () =>
          Effect.gen(function* () {
            const get = (name: string) => failure(using((client) => client.getPrompt({ name })))
            assert.strictEqual((yield* get("no_such_prompt")).code, -32602)
            const missing = yield* get("test_prompt_with_arguments")
            assert.strictEqual(missing.code, -32602)
            assert.match(missing.message, /arg1/)
          })
      )

      it.effect(
        `completes arguments of prompts and templates, in view of the others${verifies("completion.error.unknown-prompt")}`,
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
          })
      )

      it.effect(`hears only the log messages of its level and above${verifies("logging.level.threshold")}`, () =>
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
        })
      )

      it.effect("lends the server its model", () =>
        Effect.gen(function* () {
          yield* answering("sampling/createMessage", ({ messages, maxTokens }) => ({
            role: "assistant",
            model: "parrot",
            stopReason: "endTurn",
            content: { type: "text", text: `${messages[0].content.text} (${maxTokens})` }
          }))
          const { content } = yield* call("test_sampling", { prompt: "Say it" })
          assert.strictEqual(content[0].text, "LLM response: Say it (100)")
        })
      )

      it.effect("shows the server's forms, and what the user did with them arrives", () =>
        Effect.gen(function* () {
          const replies = [
            { action: "accept", content: { username: "ada", email: "ada@example.com" } },
            { action: "decline" },
            { action: "cancel" }
          ]
          for (const reply of replies) {
            yield* answering("elicitation/create", ({ message }) => {
              assert.strictEqual(message, "Who are you?")
              return reply
            })
            const { content } = yield* call("test_elicitation", { message: "Who are you?" })
            assert.strictEqual(
              content[0].text,
              `User response: action=${reply.action}, content=${JSON.stringify(reply.content ?? {})}`
            )
          }
        })
      )

      it.effect(`gets forms with defaults and with every kind of choice${verifies("elicitation.form.request")}`, () =>
        Effect.gen(function* () {
          const asked = (name: string, content: object) =>
            Effect.gen(function* () {
              let properties: any
              yield* answering("elicitation/create", (params) => {
                properties = params.requestedSchema.properties
                return { action: "accept", content }
              })
              const { content: answer } = yield* call(name)
              const text = `Elicitation completed: action=accept, content=${JSON.stringify(content)}`
              assert.strictEqual(answer[0].text, text)
              return properties
            })
          const values = { name: "Jane", age: 25, score: 88, status: "inactive", verified: false }
          assert.deepStrictEqual(yield* asked("test_elicitation_sep1034_defaults", values), {
            name: { type: "string", default: "John Doe" },
            age: { type: "integer", default: 30 },
            score: { type: "number", default: 95.5 },
            status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
            verified: { type: "boolean", default: true }
          })
          const chosen = {
            untitledSingle: "option1",
            titledSingle: "value1",
            legacyEnum: "opt1",
            untitledMulti: ["option1", "option2"],
            titledMulti: ["value1", "value2"]
          }
          const choices = yield* asked("test_elicitation_sep1330_enums", chosen)
          assert.deepStrictEqual(choices.untitledSingle, { type: "string", enum: ["option1", "option2", "option3"] })
          assert.deepStrictEqual(choices.titledSingle.oneOf[0], { const: "value1", title: "First Option" })
          assert.deepStrictEqual(choices.legacyEnum.enumNames, ["Option One", "Option Two", "Option Three"])
          assert.deepStrictEqual(choices.untitledMulti.items, {
            type: "string",
            enum: ["option1", "option2", "option3"]
          })
          assert.deepStrictEqual(choices.titledMulti.items.anyOf[1], { const: "value2", title: "Second Choice" })
        })
      )

      it.effect(
        `consents to a URL, and hears of its completion${verifies("elicitation.url.request", "elicitation.complete.id")}`,
        () =>
          Effect.gen(function* () {
            let asked: any
            yield* answering("elicitation/create", (params) => {
              asked = params
              return { action: "accept" }
            })
            const until = yield* listening
            const { content } = yield* call("visit", { url: "https://example.com/form", id: "visit-1" })
            assert.strictEqual(content[0].text, "The user is on the way.")
            assert.deepInclude(asked, { mode: "url", url: "https://example.com/form", elicitationId: "visit-1" })
            const seen = yield* until(({ method }) => method === "notifications/elicitation/complete")
            assert.deepStrictEqual(seen.at(-1)?.params, { elicitationId: "visit-1" })
          })
      )

      it.effect(
        `shows the server its roots, and the new ones once it says that they changed${verifies("roots.list-changed.server-asks-again")}`,
        () =>
          Effect.gen(function* () {
            const { client } = yield* Official
            yield* answering("roots/list", () => ({ roots: [{ uri: "file:///old", name: "Old" }] }))
            assert.deepStrictEqual((yield* call("roots")).structuredContent, {
              roots: [{ uri: "file:///old", name: "Old" }]
            })
            const onprogress = () => {
              void Effect.runFork(
                Effect.andThen(
                  Effect.provideService(
                    answering("roots/list", () => ({ roots: [{ uri: "file:///new" }] })),
                    Official,
                    official
                  ),
                  Effect.promise(() => client.sendRootsListChanged())
                )
              )
            }
            const official = yield* Official
            const result = yield* using((client) => client.callTool("roots", { afterChange: true }, { onprogress }))
            assert.deepStrictEqual(result.structuredContent, { roots: [{ uri: "file:///new" }] })
          })
      )
    })

    layer(Layer.effect(Official, connect(connector, ["--page-size", "5"])), { timeout, excludeTestServices: true })(
      "in small pages",
      (it) => {
        it.effect(
          `puts the pages together to the whole list${verifies("pagination.cursor.continues", "pagination.cursor.invalid")}`,
          () =>
            Effect.gen(function* () {
              const first = yield* using((client) => client.listTools({}))
              const tools = yield* using((client) => client.allTools())
              assert.deepStrictEqual(
                tools.map(({ name }) => name),
                toolNames
              )
              assert.isAtMost(first.nextCursor === undefined ? 0 : first.tools.length, 5)
              const invalid = yield* failure(using((client) => client.listTools({ cursor: "nonsense" })))
              assert.strictEqual(invalid.code, -32602)
            })
        )
      }
    )
  })
