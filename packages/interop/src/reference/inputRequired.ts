/**
 * Features that the conformance suite tests in 2026-07-28: handlers that ask in rounds, and tools that change lists.
 *
 * The handlers ask in straight-line code, like all others here, and run in every revision. Names and keys are the suite's. A question for
 * the roots has no name, because it is always the same.
 */
import { Elicitation, Log, Prompt, Prompts, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import { Effect, Layer, Schema, Semaphore } from "effect"

const userName = Elicitation.form("What is your name?", Schema.Struct({ name: Schema.String }), { key: "user_name" })

const say = (prompt: string, key: string) =>
  Effect.map(
    Sampling.createMessage(
      { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens: 100 },
      { key }
    ),
    ({ content }) =>
      (Array.isArray(content) ? content : [content])
        .flatMap((block) => (block.type === "text" ? [block.text] : []))
        .join("\n")
  )

const confirm = Elicitation.form("Please confirm.", Schema.Struct({ ok: Schema.Boolean }), { key: "confirm" })

/** Returns a name that the suite defines. */
const named = (name: string) => `test_input_required_result_${name}`

const elicitation = Tools.layer(
  Tool.make(named("elicitation"), { description: "Asks for a name." }),
  Effect.fnUntraced(function* () {
    const { name } = yield* userName
    return `Hello, ${name}!`
  })
)

const sampling = Tools.layer(
  Tool.make(named("sampling"), { description: "Asks the client's model for a capital." }),
  Effect.fnUntraced(function* () {
    return yield* say("What is the capital of France?", "capital_question")
  })
)

const roots = Tools.layer(
  Tool.make(named("list_roots"), { description: "Asks for the client's roots." }),
  Effect.fnUntraced(function* () {
    return `Roots: ${(yield* Roots.list).map(({ uri }) => uri).join(", ")}`
  })
)

const state = Tools.layer(
  Tool.make(named("request_state"), { description: "Asks for consent; the state of the first round comes back." }),
  Effect.fnUntraced(function* () {
    yield* confirm
    return "state-ok"
  })
)

const multipleInputs = Tools.layer(
  Tool.make(named("multiple_inputs"), { description: "Asks user, model and roots in one round." }),
  Effect.fnUntraced(function* () {
    const [{ name }, greeting, folders] = yield* Effect.all([userName, say("Say hello.", "greeting"), Roots.list], {
      concurrency: "unbounded"
    })
    return `${greeting} ${name}, working in ${folders.length} folders`
  })
)

const multiRound = Tools.layer(
  Tool.make(named("multi_round"), { description: "Asks twice, the second question after the first answer." }),
  Effect.fnUntraced(function* () {
    const { name } = yield* Elicitation.form("What is your name?", Schema.Struct({ name: Schema.String }), {
      key: "step1"
    })
    const { color } = yield* Elicitation.form(
      `Which color do you like, ${name}?`,
      Schema.Struct({ color: Schema.String }),
      { key: "step2" }
    )
    return `${name} likes ${color}`
  })
)

const tamperedState = Tools.layer(
  Tool.make(named("tampered_state"), { description: "Asks for consent, under a state that nobody may change." }),
  Effect.fnUntraced(function* () {
    yield* confirm
    return "The state is as it was."
  })
)

const capabilities = Tools.layer(
  Tool.make(named("capabilities"), { description: "Asks whom the client lets it ask: user, model, or both." }),
  Effect.fnUntraced(function* () {
    const nobody = Effect.succeed("nobody")
    const [name, greeting] = yield* Effect.all(
      [
        Elicitation.ifSupported(
          Effect.map(userName, ({ name }) => name),
          nobody
        ),
        Elicitation.ifSupported(say("Say hello.", "greeting"), nobody)
      ],
      { concurrency: "unbounded" }
    )
    return `User: ${name}; model: ${greeting}`
  })
)

const prompt = Prompts.layer(
  Prompt.make(named("prompt"), { description: "A prompt that asks what it is to be about." }),
  Effect.fnUntraced(function* () {
    const { context } = yield* Elicitation.form("What is it about?", Schema.Struct({ context: Schema.String }), {
      key: "user_context"
    })
    return `Let us talk about ${context}.`
  })
)

const missingCapability = Tools.layer(
  Tool.make("test_missing_capability", { description: "Needs the client's model." }),
  Effect.fnUntraced(function* () {
    return yield* say("Say hello.", "greeting")
  })
)

const streamingElicitation = Tools.layer(
  Tool.make("test_streaming_elicitation", { description: "Asks for a name at once." }),
  Effect.fnUntraced(function* () {
    const { name } = yield* userName
    return `Hello, ${name}!`
  })
)

const logging = Tools.layer(
  Tool.make("test_logging_tool", { description: "Logs, for those who want to hear it." }),
  Effect.fnUntraced(function* () {
    yield* Log.error("This is only for who asked for it")
    return "Logged."
  })
)

/** Registers a feature for a moment. Callers take turns, because its name is taken meanwhile. */
const briefly = <R>(feature: Layer.Layer<never, never, R>): Effect.Effect<void, never, R> =>
  oneAtATime.withPermit(Effect.asVoid(Effect.scoped(Layer.build(Layer.fresh(feature)))))
const oneAtATime = Semaphore.makeUnsafe(1)

const toolChange = Tools.layer(
  Tool.make("test_trigger_tool_change", { description: "Makes the list of tools change for a moment." }),
  Effect.fnUntraced(function* () {
    const passing = Tool.make("passing", { description: "Offered for a moment." })
    yield* briefly(Tools.layer(passing, () => Effect.succeed("Passing.")))
    return "A tool came and went."
  })
)

const promptChange = Tools.layer(
  Tool.make("test_trigger_prompt_change", { description: "Makes the list of prompts change for a moment." }),
  Effect.fnUntraced(function* () {
    const passing = Prompt.make("passing", { description: "Offered for a moment." })
    yield* briefly(Prompts.layer(passing, () => Effect.succeed("Passing.")))
    return "A prompt came and went."
  })
)

export const inputRequired = Layer.mergeAll(
  elicitation,
  sampling,
  roots,
  state,
  multipleInputs,
  multiRound,
  tamperedState,
  capabilities,
  prompt,
  missingCapability,
  streamingElicitation,
  logging,
  toolChange,
  promptChange
)
