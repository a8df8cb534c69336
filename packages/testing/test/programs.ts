/** A small language for handlers, with a short model of the expected behavior that ignores eras, rounds, tasks and wires. */
import { Elicitation, Once, Progress, type RequestContext, Roots, Sampling, Tools } from "@effect-mcp/core"
import { Arbitrary, Effect, Layer, Schema } from "effect"

export type Leaf = "form" | "confirm" | "dismiss" | "sample" | "roots" | "once" | "progress" | "fail"
/** `dismiss` is a form that the user closes. `name` is unique within a program: it makes questions, steps and failures distinct. */
export type Program =
  | { readonly _tag: Leaf; readonly name: string; readonly of?: undefined }
  | { readonly _tag: "sequence" | "all"; readonly of: ReadonlyArray<Program> }

const leaves = Schema.Literals([
  "form",
  "form",
  "confirm",
  "dismiss",
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
  /** How leaves are grouped: after each leaf, the rest may be in a nested group. */
  cuts: Schema.Array(Schema.Literals(["go on", "sequence", "all"])).check(Schema.isMinLength(7), Schema.isMaxLength(7))
})

export const programs: Arbitrary.Arbitrary<Program> = Arbitrary.map(Arbitrary.schema(Shape), ({ cuts, leaves }) => {
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

// --- running a program ---

const Name = Schema.Struct({ name: Schema.String })
const text = (name: string) => [{ role: "user" as const, content: { type: "text" as const, text: name } }]

export const handlerOf = (program: Program, log: Array<string>): Effect.Effect<unknown, Failure, Asking> => {
  switch (program._tag) {
    case "sequence":
      return Effect.all(program.of.map((part) => handlerOf(part, log)))
    case "all":
      return Effect.all(
        program.of.map((part) => handlerOf(part, log)),
        { concurrency: "unbounded" }
      )
    case "form":
    case "dismiss":
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
export type Failure =
  | Effect.Error<typeof Roots.list>
  | Effect.Error<ReturnType<typeof Elicitation.confirm>>
  | Tools.ToolFailure
type Asking = RequestContext.RequestServices

/** The user's answer to a form. */
export const answered = (message: string) =>
  message.startsWith("dismiss")
    ? { action: "cancel" as const }
    : { action: "accept" as const, content: message.startsWith("form") ? { name: message } : {} }

/** A user, a model and roots whose answers depend on the question. */
export const everyone = Layer.mergeAll(
  Elicitation.layer({ form: ({ message }) => Effect.succeed(answered(message)) }),
  Sampling.layer(({ messages }) => {
    const model = messages.flatMap(({ content }) =>
      "type" in content && content.type === "text" ? content.text : []
    )[0]
    return Effect.succeed({ role: "assistant", content: { type: "text", text: "4" }, model: model ?? "?" })
  }),
  Roots.layerStatic([{ uri: "file:///a" }])
)

// --- the expected behavior ---

export interface Expected {
  /** The program's result, unless a step fails. */
  readonly value: unknown
  /** The program's possible failures. If several siblings fail, any of them may be the first. */
  readonly failures: ReadonlySet<string>
  /** The steps that run, if nothing fails. */
  readonly steps: ReadonlyArray<string>
}

export const expect = (program: Program, lacking: ReadonlySet<string>): Expected => {
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
  const failing = { fail: name, dismiss: "Declined" }
  const failure = lacking.has(_tag)
    ? "CapabilityMissing"
    : _tag === "fail" || _tag === "dismiss"
      ? failing[_tag]
      : undefined
  return {
    value: _tag === "roots" ? "file:///a" : name,
    failures: new Set(failure === undefined ? [] : [failure]),
    steps: _tag === "once" ? [name] : []
  }
}
