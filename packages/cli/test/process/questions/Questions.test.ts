import { assert, describe, it } from "@effect/vitest"
import { Requester } from "@effect-mcp/client/Requester"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import type { ElicitParams } from "@effect-mcp/protocol/model/Elicitation"
import { verifies } from "@effect-mcp/spec/verifies"
import { Context, Effect, Exit, Layer } from "effect"
import * as Form from "@effect-mcp/cli/Form"
import * as Output from "@effect-mcp/cli/Output"
import * as Questions from "@effect-mcp/cli/Questions"
import { capture } from "../../support/run.ts"
import { person } from "../../support/terminal.ts"

const settings: Questions.Options["settings"] = { accept: false, answers: [], decline: false, yes: false }
const nobody = () => {
  const stderr = capture()
  const make = Output.make({ env: {}, stdin: {}, stdout: capture().stream, stderr: stderr.stream })
  return { stderr: stderr.text, output: Effect.runSync(make) }
}

/** Asks a scripted person, and returns their answer and screen. */
const ask = (params: ElicitParams, scripts: ReadonlyArray<string>, more: Partial<typeof settings> = {}) =>
  Effect.gen(function* () {
    const { layer, output, screen } = person(scripts)
    const elicitation = Questions.elicitation({ server: "node tables.js", settings: { ...settings, ...more }, output })
    assert.isDefined(elicitation)
    const answer = yield* Effect.flatMap(Elicitation, (service) => service.elicit(params)).pipe(
      Effect.provide(Layer.provide(elicitation, layer), { local: true })
    )
    return { answer, screen: screen() }
  })

const form: ElicitParams = {
  message: "Who are you?",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string" },
      age: { type: "integer", minimum: 18, default: 30 },
      news: { type: "boolean" },
      size: { type: "string", enum: ["small", "large"] },
      extras: { type: "array", items: { type: "string", enum: ["a", "b", "c"] } }
    },
    required: ["name", "size"]
  }
}
const url: ElicitParams = {
  mode: "url",
  message: "Sign in",
  url: "https://login.example.com/a?state=1%202#x",
  elicitationId: "1"
}

describe("Questions of detached tasks", () => {
  const asked = (task: string | undefined) =>
    Effect.gen(function* () {
      const { output } = nobody()
      const options = { server: "node tables.js", settings: { ...settings, decline: true }, output, leavesTasks: true }
      const service = yield* Layer.build(Questions.elicitation(options) ?? Layer.empty)
      const fiber = yield* Effect.forkChild(
        Effect.provideService(Context.getUnsafe(service, Elicitation).elicit(form), Requester, {
          server: { name: "tables", version: "1" },
          ...(task === undefined ? undefined : { task })
        }),
        { startImmediately: true }
      )
      return fiber.pollUnsafe()
    }).pipe(Effect.provide(person([]).layer), Effect.scoped)

  it.effect("A detached task's question is not answered, but a request's question is", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* asked("t1"))
      assert.deepStrictEqual(yield* asked(undefined), Exit.succeed({ action: "decline" }))
    })
  )
})

describe("Questions at a terminal", () => {
  it.effect(
    "A question shows the server's name and sends the input once reviewed",
    () =>
      Effect.gen(function* () {
        const typed = ["<enter>", "Ada<enter>", "<enter>", "<up><enter>", "<down><enter>", "<enter>", "<enter>"]
        const { answer, screen } = yield* ask(form, typed)
        assert.deepStrictEqual(answer, {
          action: "accept",
          content: { name: "Ada", age: 30, news: false, size: "large" }
        })
        assert.include(screen, "node tables.js asks: Who are you?")
        assert.include(screen, `  name: "Ada"\n  age: 30\n  news: false\n  size: "large"\n`)
      }),
    verifies("elicitation.ui.shows-server", "elicitation.ui.review")
  )

  it.effect(
    "Answers can be changed before they are sent",
    () =>
      Effect.gen(function* () {
        const only: ElicitParams = {
          message: "Name?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
        }
        const { answer } = yield* ask(only, ["<enter>", "Ada<enter>", "<down><enter>", "m<enter>", "<enter>"])
        assert.deepStrictEqual(answer, { action: "accept", content: { name: "Adam" } })
      }),
    verifies("elicitation.ui.review")
  )

  it.effect("A question accepts only a valid answer", () =>
    Effect.gen(function* () {
      const only: ElicitParams = {
        message: "Age?",
        requestedSchema: { type: "object", properties: { age: { type: "integer", minimum: 18 } }, required: ["age"] }
      }
      const { answer } = yield* ask(only, ["<enter>", "7<enter>0<enter>", "<enter>"])
      assert.deepStrictEqual(answer, { action: "accept", content: { age: 70 } })
    })
  )

  it.effect(
    "A question can be declined or dismissed",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* ask(form, ["<down><enter>"])).answer, { action: "decline" })
        assert.deepStrictEqual((yield* ask(form, ["<down><down><enter>"])).answer, { action: "cancel" })
        assert.deepStrictEqual((yield* ask(form, ["<enter>", "Ada"])).answer, { action: "cancel" })
        assert.deepStrictEqual((yield* ask(url, [])).answer, { action: "cancel" })
      }),
    verifies("elicitation.ui.decline-and-cancel")
  )

  it.effect("A form without fields only needs consent", () =>
    Effect.gen(function* () {
      const confirm: ElicitParams = { message: "Sure?", requestedSchema: { type: "object", properties: {} } }
      const { answer, screen } = yield* ask(confirm, ["<enter>"])
      assert.deepStrictEqual(answer, { action: "accept", content: {} })
      assert.include(screen, "Accept")
    })
  )

  it.effect("Only fields missing from --answer are prompted for, with the given answers as defaults", () =>
    Effect.gen(function* () {
      const all = yield* ask(form, [], { answers: ["name=Ada", "size=small"] })
      assert.deepStrictEqual(all.answer, { action: "accept", content: { name: "Ada", size: "small", age: 30 } })
      const some = yield* ask(form, Array(7).fill("<enter>"), { answers: ["name=Ada"] })
      assert.deepInclude(some.answer.content, { name: "Ada", size: "small" })
    })
  )

  it.effect(
    "A page question shows the full URL and its host, and asks for consent",
    () =>
      Effect.gen(function* () {
        const { answer, screen } = yield* ask(url, ["<enter>"])
        assert.deepStrictEqual(answer, { action: "accept" })
        assert.include(screen, "on login.example.com:\n  https://login.example.com/a?state=1%202#x\n")
        assert.deepStrictEqual((yield* ask(url, ["<down><enter>"])).answer, { action: "decline" })
      }),
    verifies(
      "elicitation.url.shown-in-full",
      "elicitation.ui.url-consent",
      "elicitation.url.consent",
      "elicitation.ui.domain-highlighted"
    )
  )

  it.effect(
    "A host with deceptive letters causes a warning",
    () =>
      Effect.gen(function* () {
        const { screen } = yield* ask({ ...url, url: "https://xn--pple-43d.com/" }, ["<down><enter>"])
        assert.include(screen, "Look closely")
      }),
    verifies("elicitation.ui.suspicious-warned")
  )

  it.effect("A question writes no control characters from the server", () =>
    Effect.gen(function* () {
      const { screen } = yield* ask({ ...url, message: "\u001b]0;title\u0007" }, ["<down><enter>"])
      assert.include(screen, "\\u001b]0;title\\u0007")
    })
  )
})

describe("Questions without a terminal", () => {
  const declared = (more: Partial<typeof settings>) =>
    Effect.gen(function* () {
      const { output, stderr } = nobody()
      const layer = Questions.elicitation({ server: "s", settings: { ...settings, ...more }, output })
      if (layer === undefined) return undefined
      const { layer: services } = person([])
      const service = yield* Effect.provide(Elicitation, Layer.provide(layer, services), { local: true })
      return { service, stderr }
    })

  it.effect("Questions are not declared unless a flag answers them", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* declared({}), undefined)
      assert.deepStrictEqual((yield* declared({ accept: true }))?.service.modes, { form: true, url: false })
      assert.deepStrictEqual((yield* declared({ answers: ["a=1"] }))?.service.modes, { form: true, url: false })
      assert.deepStrictEqual((yield* declared({ decline: true }))?.service.modes, { form: true, url: true })
    })
  )

  it.effect("Questions are answered with --answer if that suffices, and otherwise declined with a note", () =>
    Effect.gen(function* () {
      const given = yield* declared({ answers: ["name=Ada", "size=large"] })
      const content = { name: "Ada", size: "large", age: 30 }
      assert.deepStrictEqual(yield* given!.service.elicit(form), { action: "accept", content })
      const short = yield* declared({ answers: ["name=Ada"] })
      assert.deepStrictEqual(yield* short!.service.elicit(form), { action: "decline" })
      assert.strictEqual(short!.stderr(), "Declined a question from s (Who are you?): no answer for size\n")
    })
  )

  it.effect("An --answer to another question never accepts this one", () =>
    Effect.gen(function* () {
      const given = yield* declared({ answers: ["colour=red"] })
      const confirm: ElicitParams = { message: "Delete?", requestedSchema: { type: "object", properties: {} } }
      assert.deepStrictEqual(yield* given!.service.elicit(confirm), { action: "decline" })
      const accepting = yield* declared({ accept: true })
      assert.deepStrictEqual(yield* accepting!.service.elicit(confirm), { action: "accept", content: {} })
    })
  )

  it.effect("--decline declines every question", () =>
    Effect.gen(function* () {
      const given = yield* declared({ decline: true })
      assert.deepStrictEqual(yield* given!.service.elicit(form), { action: "decline" })
      assert.deepStrictEqual(yield* given!.service.elicit(url), { action: "decline" })
    })
  )
})

describe("Consent", () => {
  const server = { name: "s", version: "1" }
  const roots = { _tag: "ListRoots", server } as const
  const sampling = {
    _tag: "CreateMessage",
    server,
    params: { messages: [{ role: "user", content: { type: "text", text: "Summarise this" } }], maxTokens: 1 }
  } as const
  const call = { _tag: "CallTool", server, tool: "t", arguments: {}, annotations: { destructiveHint: true } } as const

  it.effect(
    "Consent is requested before sending roots or samples",
    () =>
      Effect.gen(function* () {
        const { layer, output, screen } = person(["<enter>", "<down><enter>"])
        const policy = yield* Effect.provide(Questions.consent({ server: "s", settings, output }), layer, {
          local: true
        })
        assert.isTrue(yield* policy.ask(roots))
        assert.isFalse(yield* policy.ask(sampling))
        assert.isFalse(yield* policy.ask(sampling))
        assert.include(screen(), "user: Summarise this")
      }),
    verifies("roots.consent", "sampling.consent.human-in-loop")
  )

  it.effect("Consent is not requested for a typed call, with --yes, or without a terminal", () =>
    Effect.gen(function* () {
      const { layer, output } = person([])
      const { output: none } = nobody()
      const policy = (options: Questions.Options) => Effect.provide(Questions.consent(options), layer, { local: true })
      assert.isTrue(yield* (yield* policy({ server: "s", settings, output })).ask(call))
      assert.isTrue(yield* (yield* policy({ server: "s", settings: { ...settings, yes: true }, output })).ask(roots))
      assert.isTrue(yield* (yield* policy({ server: "s", settings, output: none })).ask(sampling))
    })
  )
})

describe("Missing arguments at a terminal", () => {
  it.effect("Missing arguments are prompted for in turn, and none is used if the user leaves", () =>
    Effect.gen(function* () {
      const field = (name: string, schema: object) => Form.fieldOf(name, schema) ?? assert.fail("no field")
      const fields = [field("name", { type: "string" }), field("age", { type: "integer" })]
      const answering = person(["Ada<enter>", "30<enter>"])
      const answers = yield* Effect.provide(
        Questions.askFields(answering.output, "greet needs more:", fields),
        answering.layer,
        { local: true }
      )
      assert.deepStrictEqual(answers, { name: "Ada", age: 30 })
      assert.include(answering.screen(), "greet needs more:")
      const leaving = person(["Ada<enter>"])
      assert.isUndefined(
        yield* Effect.provide(Questions.askFields(leaving.output, "greet needs more:", fields), leaving.layer, {
          local: true
        })
      )
      assert.isUndefined(Form.fieldOf("nested", { type: "object", properties: {} }))
    })
  )
})
