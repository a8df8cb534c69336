/** Rules as data: their conditions, patterns and defaults. */
import { Caller, type HostAction, PolicyRule } from "@effect-mcp/host"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"

const action = (changes: Partial<HostAction.HostAction> = {}): HostAction.HostAction => ({
  kind: "call",
  server: "notes",
  trusted: true,
  name: "write_note",
  input: { text: "hi" },
  annotations: { destructiveHint: false },
  pin: "abc",
  caller: { conversation: new Caller.HostConversation("chat"), source: "model", depth: 0 },
  leak: undefined,
  ...changes
})

const decide = (rule: PolicyRule.PolicyRule | PolicyRule.PolicyFunction, given = action()) =>
  Effect.flatMap(Effect.fromResult(PolicyRule.compile(rule)), (decide) => decide(given))

const byDefault = Effect.fnUntraced(function* (given: HostAction.HostAction) {
  for (const rule of PolicyRule.defaults) {
    const decision = yield* decide(rule, given)
    if (decision !== undefined) return `${decision._tag}${"reason" in decision ? `: ${decision.reason}` : ""}`
  }
  return undefined
})

describe("rules as data", () => {
  it.effect.each([
    ["its server", { server: "notes" }, { server: "mail" }],
    ["one of several servers", { server: ["mail", "no*"] }, { server: ["mail"] }],
    ["a pattern of its name", { name: "write_*" }, { name: "*_notes" }],
    ["its kind", { kind: ["call", "read"] }, { kind: "read" }],
    ["its source", { source: "model" }, { source: ["user", "view"] }],
    ["hints of a trusted server", { destructive: false, readOnly: false }, { readOnly: true }],
    ["the default of a missing hint", { openWorld: true }, { openWorld: false }],
    [
      "its input",
      { input: { properties: { text: { maxLength: 2 } } } },
      { input: { properties: { text: { maxLength: 1 } } } }
    ],
    ["nobody's principal", {}, { principal: "*" }]
  ] as ReadonlyArray<readonly [string, object, object]>)("A rule matches an action by %s", ([, matching, other]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decide({ decide: "allow", ...matching }), { _tag: "Allow" })
      assert.isUndefined(yield* decide({ decide: "allow", ...other }))
    })
  )

  it.effect("Hints of untrusted servers and unlisted tools match no rule", () =>
    Effect.gen(function* () {
      const rule = { decide: "allow", destructive: false } as const
      assert.isUndefined(yield* decide(rule, action({ trusted: false })))
      assert.isUndefined(yield* decide(rule, action({ pin: undefined })))
    })
  )

  it.effect("A rule overwrites fields of the input", () =>
    Effect.map(decide({ decide: "edit", edit: { dryRun: true } }), (decision) =>
      assert.deepStrictEqual(decision, { _tag: "Edit", input: { text: "hi", dryRun: true } })
    )
  )

  it.each([
    ["has an edit that it does not decide", { decide: "allow", edit: {} }],
    ["decides an edit without one", { decide: "edit" }],
    ["has a JSON Schema that cannot be used", { decide: "allow", input: { type: "nonsense" } }]
  ] as ReadonlyArray<readonly [string, PolicyRule.PolicyRule]>)("A rule is invalid if it %s", (_, rule) => {
    assert.isTrue(Result.isFailure(PolicyRule.compile(rule)))
  })

  it.effect.each([
    ["fails", () => Effect.die("dead")],
    ["throws", () => assert.fail("thrown")],
    ["returns a promise", () => Promise.resolve({ _tag: "Allow" })]
  ] as ReadonlyArray<readonly [string, () => any]>)("A rule that %s denies", ([, rule]) =>
    Effect.map(decide(rule), (decision) => assert.strictEqual(decision?._tag, "Deny"))
  )

  it.effect("Rules from JSON reject unknown fields", () =>
    Effect.gen(function* () {
      assert.lengthOf(yield* PolicyRule.decode([{ decide: "allow", server: "a*" }]), 1)
      yield* Effect.flip(PolicyRule.decode([{ decide: "allow", sever: "a" }]))
      yield* Effect.flip(PolicyRule.decode([{ decide: "permit" }]))
    })
  )

  it("Patterns match in linear time", () => {
    assert.isTrue(PolicyRule.matches("a*b*c", "axxbyyc"))
    assert.isFalse(PolicyRule.matches("a*a", "a"))
    assert.isTrue(PolicyRule.matches("*", ""))
    assert.isFalse(PolicyRule.matches([], "a"))
    assert.isFalse(PolicyRule.matches("*a".repeat(50), `${"a".repeat(100_000)}b`))
  })
})

describe("the default rules", () => {
  it.effect.each([
    ["reads a resource", { kind: "read" }, "Allow"],
    ["gets a prompt", { kind: "prompt" }, "Allow"],
    ["answers a form, which the user sees", { kind: "elicitation" }, "Allow"],
    ["calls a read-only tool of a trusted server", { annotations: { readOnlyHint: true } }, "Allow"],
    ["calls a tool that only adds", { annotations: { destructiveHint: false } }, "Ask: The tool may change data"],
    ["calls a tool without hints", { annotations: undefined }, "Ask: The tool may change or delete data"],
    [
      "calls a read-only tool of another server",
      { trusted: false, annotations: { readOnlyHint: true } },
      "Ask: The tool does not say what it changes, or its server is not trusted"
    ],
    [
      "calls a tool that was not listed",
      { pin: undefined },
      "Ask: The tool does not say what it changes, or its server is not trusted"
    ],
    ["samples", { kind: "sampling" }, "Ask: The server asks for a response from your model"],
    ["lists roots", { kind: "roots" }, "Ask: The server asks for the list of your folders"]
  ] as ReadonlyArray<readonly [string, Partial<HostAction.HostAction>, string]>)("Who %s", ([, changes, expected]) =>
    Effect.map(byDefault(action(changes)), (decision) => assert.strictEqual(decision, expected))
  )
})
