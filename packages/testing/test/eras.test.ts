/**
 * Any handler of a small language means the same in every revision that has its questions, and fails typed in the others.
 *
 * What it should do is said by a model of a few lines, which knows nothing of eras, rounds or wires.
 */
import { Elicitation, Once, Progress, type RequestContext, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Schema } from "effect"
import * as McpCheck from "../src/McpCheck.ts"
import * as McpTest from "../src/McpTest.ts"

type Leaf = "form" | "confirm" | "sample" | "roots" | "once" | "progress" | "fail"
/** `name` is unique within a program: it makes questions, steps and failures distinct. */
type Program =
  | { readonly _tag: Leaf; readonly name: string; readonly of?: undefined }
  | { readonly _tag: "sequence" | "all"; readonly of: ReadonlyArray<Program> }

const leaves = Schema.Literals([
  "form",
  "form",
  "confirm",
  "sample",
  "roots",
  "roots",
  "once",
  "once",
  "progress",
  "fail"
])
const Shape = Schema.Struct({
  leaves: Schema.Array(leaves).check(Schema.isMinLength(2), Schema.isMaxLength(7)),
  /** How leaves are grouped: the rest after each, inside a group of its own or not. */
  cuts: Schema.Array(Schema.Literals(["go on", "sequence", "all"])).check(Schema.isMinLength(7), Schema.isMaxLength(7))
})

const programs: Arbitrary.Arbitrary<Program> = Arbitrary.map(Arbitrary.schema(Shape), ({ cuts, leaves }) => {
  const build = (from: number): ReadonlyArray<Program> => {
    const tag = leaves[from]
    if (tag === undefined) return []
    const leaf: Program = { _tag: tag, name: `${tag} ${from}` }
    const rest = build(from + 1)
    const cut = cuts[from]
    return cut === undefined || cut === "go on" ? [leaf, ...rest] : [{ _tag: cut, of: [leaf, ...rest] }]
  }
  return { _tag: leaves.length % 2 === 0 ? "all" : "sequence", of: build(0) }
})

// --- what runs ---

const Name = Schema.Struct({ name: Schema.String })
const text = (name: string) => [{ role: "user" as const, content: { type: "text" as const, text: name } }]

const handlerOf = (program: Program, log: Array<string>): Effect.Effect<unknown, Failure, Asking> => {
  switch (program._tag) {
    case "sequence":
      return Effect.all(program.of.map((part) => handlerOf(part, log)))
    case "all":
      return Effect.all(
        program.of.map((part) => handlerOf(part, log)),
        { concurrency: "unbounded" }
      )
    case "form":
      return Effect.map(Elicitation.form(program.name, Name), ({ name }) => name)
    case "confirm":
      return Effect.as(Elicitation.confirm(program.name), program.name)
    case "sample":
      return Effect.map(Sampling.createMessage({ messages: text(program.name), maxTokens: 1 }), ({ model }) => model)
    case "roots":
      return Effect.map(Roots.list, ([root]) => root?.uri)
    case "once":
      return Once.run(
        program.name,
        Schema.String,
        Effect.sync(() => {
          log.push(program.name)
          return program.name
        })
      )
    case "progress":
      return Effect.as(Progress.report(1, { total: 2 }), program.name)
    default:
      return Effect.fail(new Tools.ToolFailure({ message: program.name }))
  }
}
type Failure =
  | Effect.Error<typeof Roots.list>
  | Effect.Error<ReturnType<typeof Elicitation.confirm>>
  | Tools.ToolFailure
type Asking = RequestContext.RequestServices

/** A user, a model and roots whose answers depend on the question. */
const everyone = Layer.mergeAll(
  Elicitation.layer({
    form: ({ message }) =>
      Effect.succeed({ action: "accept", content: message.startsWith("form") ? { name: message } : {} })
  }),
  Sampling.layer(({ messages }) => {
    const model = messages.flatMap(({ content }) =>
      "type" in content && content.type === "text" ? content.text : []
    )[0]
    return Effect.succeed({ role: "assistant", content: { type: "text", text: "4" }, model: model ?? "?" })
  }),
  Roots.layerStatic([{ uri: "file:///a" }])
)

// --- what should happen ---

interface Expected {
  /** What it gives, unless something fails. */
  readonly value: unknown
  /** What it may fail with: of siblings that fail, any may be the first. */
  readonly failures: ReadonlySet<string>
  /** The steps that run, if nothing fails. */
  readonly steps: ReadonlyArray<string>
}

const expect = (program: Program, lacking: ReadonlySet<string>): Expected => {
  if (program.of !== undefined) {
    const parts = program.of.map((part) => expect(part, lacking))
    const failing = parts.filter(({ failures }) => failures.size > 0)
    return {
      value: parts.map(({ value }) => value),
      failures: new Set(
        (program._tag === "all" ? failing : failing.slice(0, 1)).flatMap(({ failures }) => [...failures])
      ),
      steps: parts.flatMap(({ steps }) => steps)
    }
  }
  const { _tag, name } = program
  const failure = _tag === "fail" ? name : lacking.has(_tag) ? "CapabilityMissing" : undefined
  return {
    value: _tag === "roots" ? "file:///a" : name,
    failures: new Set(failure === undefined ? [] : [failure]),
    steps: _tag === "once" ? [name] : []
  }
}

const Run = Tool.make("run", { description: "" })
const said = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({ value: Schema.optionalKey(Schema.Unknown), failed: Schema.optionalKey(Schema.String) })
  )
)

const play = Effect.fnUntraced(function* (program: Program, revision: Revision.Revision) {
  const log: Array<string> = []
  const handled = handlerOf(program, log).pipe(
    Effect.map((value) => ({ value })),
    Effect.catch((error) => Effect.succeed({ failed: error._tag === "ToolFailure" ? error.message : error._tag }))
  )
  const features = Tools.layer(Run, () => Effect.map(handled, (outcome) => JSON.stringify(outcome)))
  const client = yield* McpTest.connect(features, revision)
  const { content } = yield* client.callTool(Run, {}, { onProgress: () => {} })
  const [block] = content
  assert(block?.type === "text")
  return { ...said(block.text), steps: log }
})

const check = Effect.fnUntraced(function* (
  program: Program,
  revision: Revision.Revision,
  lacking: ReadonlySet<string>
) {
  const { failed, steps, value } = yield* Effect.scoped(play(program, revision))
  const expected = expect(program, lacking)
  const where = `${revision.version}: ${JSON.stringify(program)}`
  assert.strictEqual(new Set(steps).size, steps.length, `A step ran twice, ${where}`)
  if (expected.failures.size > 0) {
    assert(
      failed !== undefined && expected.failures.has(failed),
      `${failed} is not one of ${[...expected.failures].join()}, ${where}`
    )
  } else {
    assert.deepStrictEqual({ failed, value }, { failed: undefined, value: expected.value }, where)
    assert.deepStrictEqual(steps.toSorted(), expected.steps.toSorted(), where)
  }
})

const options = { runs: 100, seed: 20_260_728 }
const passes = <E, R>(checked: Effect.Effect<Arbitrary.CheckResult<Program, E>, never, R>) =>
  Effect.map(checked, (result) => assert.isUndefined(Arbitrary.formatCheckFailure(result)))

describe("a handler of forms, models, roots, steps, progress and failures", () => {
  for (const revision of Revision.all) {
    const hasForms = revision.rules.elicitation.form
    const lacking = new Set(hasForms ? [] : ["form", "confirm"])
    it.effect(
      `does in ${revision.version} what it says${hasForms ? "" : ", or misses the capability where it asks for a form"}`,
      () =>
        passes(
          Arbitrary.checkEffect(programs, (program) => Effect.as(check(program, revision, lacking), true), options)
        ).pipe(Effect.provide(everyone))
    )

    it.effect(`misses the capability in ${revision.version} where the client has no user`, () =>
      passes(
        Arbitrary.checkEffect(
          programs,
          (program) => Effect.as(check(program, revision, new Set(["form", "confirm", "sample", "roots"])), true),
          { ...options, runs: 25 }
        )
      )
    )
  }

  it.effect("passes McpCheck.interpreters", () =>
    passes(
      Arbitrary.checkEffect(
        programs,
        (program) =>
          // Of siblings that fail at one moment any may be first, so only programs with one failure at most are compared.
          expect(program, new Set()).failures.size > 1
            ? Effect.succeed(true)
            : Effect.as(McpCheck.interpreters(handlerOf(program, []), everyone), true),
        { ...options, runs: 30 }
      )
    )
  )
})
