/** The policy's questions as approval requests of `effect/ai`: a toolkit of guarded servers, a scripted model, and a user's answers. */
import { RemoteToolkit } from "@effect-mcp/ai"
import * as McpClients from "@effect-mcp/client/McpClients"
import { AnswerStore, Approver, Caller, HostPolicy, Pins } from "@effect-mcp/host"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { Changing, row, tool } from "../support/changing.ts"
import { type ScriptedCall, scripted } from "../support/model.ts"

const note = tool("note", "Writes a note.", { annotations: { openWorldHint: false } })
const read = tool("read", "Reads the notes.", { annotations: { readOnlyHint: true, openWorldHint: false } })

const writing: ScriptedCall = ["call-1", "notes_note", { text: "milk" }]

/** A chat with one guarded server. `asked` has the actions that the `Approver` is asked about. */
const chatting = Effect.fnUntraced(function* (
  revision: Revision.Revision,
  turns: ReadonlyArray<ReadonlyArray<ScriptedCall>>,
  options: HostPolicy.Options = {}
) {
  const asked: Array<string> = []
  const records: Array<string> = []
  const server = new Changing([note, read])
  const approver = Layer.succeed(Approver.Approver, {
    ask: ({ name }) =>
      Effect.as(
        Effect.sync(() => asked.push(name)),
        { _tag: "Deny" as const }
      )
  })
  const audit = ({ action, by, decision, outcome }: HostPolicy.DecisionRecord) =>
    Effect.sync(() => void (outcome === undefined && records.push(`${action.name} ${decision} by ${by}`)))
  const context = yield* Layer.build(
    HostPolicy.layer({ trusted: "notes", audit, ...options }).pipe(
      Layer.provideMerge(Pins.layerMemory({ ask: () => Effect.succeed(true) })),
      Layer.provide([approver, AnswerStore.layerMemory])
    )
  )
  const { approvals } = Context.get(context, HostPolicy.HostPolicy)
  const clients = yield* Effect.provideContext(McpClients.make({ notes: row(server, revision) }), context)
  const toolkit = yield* RemoteToolkit.fromServers(clients, { approvals })
  const model = yield* Layer.build(scripted(...turns))
  const conversation = new Caller.HostConversation("chat")
  /** Runs a turn. `answers` holds the user's answers to the open requests. */
  const turn = (prompt: Prompt.Prompt) =>
    Caller.within(LanguageModel.generateText({ prompt, toolkit }), { conversation }).pipe(
      Effect.provideContext(model),
      Effect.map(({ content, toolResults }) => ({
        prompt: Prompt.concat(prompt, Prompt.fromResponseParts(content)),
        requests: content.filter((part) => part.type === "tool-approval-request"),
        results: toolResults
      }))
    )
  const question = (id: string) => Caller.within(approvals.question(id), { conversation })
  return { approvals, asked, clients, conversation, question, records, server, toolkit, turn }
})

const start = Prompt.make("Remember milk")

/** Adds the user's answers to approval requests. */
const answered = (
  { prompt, requests }: { readonly prompt: Prompt.Prompt; readonly requests: ReadonlyArray<{ approvalId: string }> },
  approved: boolean
) =>
  Prompt.concat(
    prompt,
    Prompt.fromMessages([
      Prompt.toolMessage({
        content: requests.map(({ approvalId }) => Prompt.toolApprovalResponsePart({ approvalId, approved }))
      })
    ])
  )

describe.each(Revision.all)("approval requests in $version", (revision) => {
  it.effect("A call that the policy asks about becomes an approval request, and runs once it is approved", () =>
    Effect.gen(function* () {
      const { asked, question, records, server, turn } = yield* chatting(revision, [[writing]])
      const first = yield* turn(start)
      assert.deepStrictEqual(
        first.requests.map(({ toolCallId }) => toolCallId),
        ["call-1"]
      )
      assert.lengthOf(server.received, 0)
      const open = yield* question("call-1")
      assert.deepStrictEqual(
        [open?.action.server, open?.action.name, open?.action.input],
        ["notes", "note", writing[2]]
      )
      assert.strictEqual(open?.reason, "The tool may change or delete data")
      const second = yield* turn(answered(first, true))
      assert.lengthOf(second.results, 1)
      assert.isFalse(second.results[0]?.isFailure)
      assert.deepStrictEqual(server.received, [JSON.stringify(["tools/call", "note", writing[2]])])
      assert.deepStrictEqual([asked, records], [[], ["note allow by user"]])
      assert.isUndefined(yield* question("call-1"))
    })
  )
})

const revision = Revision.latestStateful

describe("approval requests of a policy", () => {
  it.effect("A call that the user denies is not sent", () =>
    Effect.gen(function* () {
      const { asked, server, turn } = yield* chatting(revision, [[writing]])
      const second = yield* turn(answered(yield* turn(start), false))
      assert.isTrue(second.results[0]?.isFailure)
      assert.deepStrictEqual([server.received, asked], [[], []])
    })
  )

  it.effect("Calls that a rule allows or denies need no approval", () =>
    Effect.gen(function* () {
      const { records, server, turn } = yield* chatting(revision, [[writing, ["call-2", "notes_read", {}]]], {
        rules: [{ decide: "deny", name: "note" }]
      })
      const { requests, results } = yield* turn(start)
      assert.lengthOf(requests, 0)
      assert.deepStrictEqual(
        results.map(({ isFailure, name }) => `${name} ${isFailure ? "fails" : "runs"}`).toSorted(),
        ["notes_note fails", "notes_read runs"]
      )
      assert.lengthOf(server.received, 1)
      assert.deepStrictEqual(records.toSorted(), ["note deny by rule", "read allow by rule"])
    })
  )

  it.effect("Approved calls of one turn run, although the results of one make the others suspicious", () =>
    Effect.gen(function* () {
      const calls = ["a", "b", "c"].map((text): ScriptedCall => [`call-${text}`, "notes_note", { text }])
      const { asked, server, turn } = yield* chatting(revision, [calls], { trusted: [] })
      const first = yield* turn(start)
      assert.lengthOf(first.requests, 3)
      yield* turn(answered(first, true))
      assert.deepStrictEqual([asked, server.received.length], [[], 3])
    })
  )

  it.effect("An approval does not cover another input under the same ID, or the same call again", () =>
    Effect.gen(function* () {
      const { approvals, asked, clients, conversation, server } = yield* chatting(revision, [])
      const requested = { id: "call-1", server: "notes", tool: "note", input: { text: "milk" } }
      const call = (text: string) =>
        Effect.exit(approvals.within(clients.callToolByName("notes_note", { text }), requested))
      yield* Effect.gen(function* () {
        assert.isTrue(yield* approvals.needed(requested))
        yield* call("everything")
        assert.deepStrictEqual([asked, server.received], [["note"], []])
        yield* call("milk")
        assert.deepStrictEqual([asked, server.received], [["note", "note"], []])
        assert.isTrue(yield* approvals.needed(requested))
        yield* call("milk")
        assert.lengthOf(server.received, 1)
        yield* call("milk")
        assert.deepStrictEqual([asked.length, server.received.length], [3, 1])
      }).pipe((program) => Caller.within(program, { conversation }))
    })
  )

  it.effect("An approval does not cover a tool that has changed since, or another conversation", () =>
    Effect.gen(function* () {
      const { approvals, asked, clients, server } = yield* chatting(revision, [])
      const requested = { id: "call-1", server: "notes", tool: "note", input: { text: "milk" } }
      const call = Effect.exit(approvals.within(clients.callToolByName("notes_note", requested.input), requested))
      assert.isTrue(yield* approvals.needed(requested))
      yield* Caller.within(call, { conversation: new Caller.HostConversation("another") })
      assert.deepStrictEqual([asked, server.received], [["note"], []])
      server.change([tool("note", "Writes a note and publishes it.", { annotations: { openWorldHint: false } }), read])
      // The user accepts the change, so that the tool can be called.
      yield* clients.listTools
      yield* clients.listTools
      yield* call
      assert.deepStrictEqual([asked, server.received], [["note", "note"], []])
    })
  )

  it.effect("A rule that edits asks about the edited input", () =>
    Effect.gen(function* () {
      const { question, server, turn } = yield* chatting(
        revision,
        [[["call-0", "notes_note", { text: "a" }]], [writing]],
        {
          trusted: [],
          rules: [{ decide: "edit", name: "note", edit: { text: "edited" } }]
        }
      )
      const first = yield* turn(start)
      assert.lengthOf(first.requests, 0)
      const second = yield* turn(first.prompt)
      assert.lengthOf(second.requests, 1)
      assert.deepStrictEqual((yield* question("call-1"))?.action.input, { text: "edited" })
      yield* turn(answered(second, true))
      assert.deepStrictEqual(server.received.at(-1), JSON.stringify(["tools/call", "note", { text: "edited" }]))
      assert.lengthOf(server.received, 2)
    })
  )
})
