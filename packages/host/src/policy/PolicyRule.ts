/**
 * Rules for a host's policy, as data (for example from a file) or as functions. The first rule that decides about an action wins.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { PolicyDecision, HostAction } from "./HostAction.ts"

/** One or several patterns, in which `*` stands for any text. */
export const Patterns = Schema.Union([Schema.String, Schema.Array(Schema.String)])

const Kind = Schema.Literals(["call", "read", "prompt", "sampling", "elicitation", "roots"])
const Source = Schema.Literals(["model", "user", "view", "server"])

/**
 * A rule as data. It decides about actions that match all its conditions; without conditions, about every action. `edit` overwrites fields
 * of the input and allows the action.
 *
 * Hints match only if the server is trusted and the tool was listed. A missing hint has the specification's default: not read-only,
 * destructive, open world.
 */
export const PolicyRule = Schema.Struct({
  decide: Schema.Literals(["allow", "ask", "edit", "deny"]),
  kind: Schema.optionalKey(Schema.Union([Kind, Schema.Array(Kind)])),
  server: Schema.optionalKey(Patterns),
  /** Name of the tool or prompt, or URI of the resource. */
  name: Schema.optionalKey(Patterns),
  source: Schema.optionalKey(Schema.Union([Source, Schema.Array(Source)])),
  principal: Schema.optionalKey(Patterns),
  readOnly: Schema.optionalKey(Schema.Boolean),
  destructive: Schema.optionalKey(Schema.Boolean),
  openWorld: Schema.optionalKey(Schema.Boolean),
  /** JSON Schema that the input must match. */
  input: Schema.optionalKey(JsonObject),
  /** Fields to overwrite in the input. Only with `edit`. */
  edit: Schema.optionalKey(JsonObject),
  /** Shown to the user when the rule asks, and in the error when it denies. */
  reason: Schema.optionalKey(Schema.String)
})
export type PolicyRule = typeof PolicyRule.Type

/** A rule as a function. Returns `undefined` to leave the decision to the next rule. A rule that fails or throws denies. */
export type PolicyFunction = (action: HostAction) => Effect.Effect<PolicyDecision | undefined>

/** A rule can't be used, for example because its JSON Schema is invalid. */
export class InvalidRule extends Data.TaggedError("InvalidRule")<{ readonly message: string }> {}

/** Matches a text against patterns without backtracking, because each part between stars matches at its first occurrence. */
export const matches = (patterns: string | ReadonlyArray<string>, text: string): boolean =>
  (typeof patterns === "string" ? [patterns] : patterns).some((pattern) => {
    const [first = "", ...rest] = pattern.split("*")
    const last = rest.pop()
    if (last === undefined) return text === pattern
    if (!text.startsWith(first)) return false
    let at = first.length
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return text.length - at >= last.length && text.endsWith(last)
  })

const isOneOf = (wanted: string | ReadonlyArray<string>, value: string): boolean =>
  typeof wanted === "string" ? wanted === value : wanted.includes(value)

/** Returns a tool's hints with the specification's defaults, or `undefined` if they are unknown or not trusted. */
const hintsOf = ({ annotations, kind, pin, trusted }: HostAction) =>
  kind === "call" && trusted && pin !== undefined
    ? {
        readOnly: annotations?.readOnlyHint ?? false,
        destructive: annotations?.readOnlyHint !== true && (annotations?.destructiveHint ?? true),
        openWorld: annotations?.openWorldHint ?? true
      }
    : undefined

const decisionOf = ({ decide, edit = {}, reason }: PolicyRule, { input }: HostAction): PolicyDecision => {
  switch (decide) {
    case "allow":
      return { _tag: "Allow" }
    case "ask":
      return { _tag: "Ask", reason }
    case "edit":
      return { _tag: "Edit", input: { ...input, ...edit } }
    default:
      return { _tag: "Deny", reason }
  }
}

/** Prepares a rule. Fails if it can't be used. */
export const compile = (rule: PolicyFunction | PolicyRule): Result.Result<PolicyFunction, InvalidRule> => {
  if (typeof rule === "function") {
    return Result.succeed((action) =>
      Effect.catchCause(
        // Only an object decides, because a JavaScript program may return any value.
        Effect.map(
          effectOf("A HostPolicy rule", () => rule(action)),
          (decision) => (typeof decision === "object" && decision !== null ? decision : undefined)
        ),
        (cause) =>
          Effect.as(Effect.logError("A HostPolicy rule threw an error", cause), {
            _tag: "Deny" as const,
            reason: "A policy rule failed"
          })
      )
    )
  }
  if ((rule.decide === "edit") !== (rule.edit !== undefined))
    return Result.fail(
      new InvalidRule({ message: `The field "edit" is required if "decide" is "edit", and not allowed otherwise` })
    )
  const validator =
    rule.input === undefined
      ? Result.succeed(undefined)
      : Result.mapError(
          JsonSchemaValidator.compile(rule.input),
          ({ reason }) => new InvalidRule({ message: `A rule's JSON Schema is not supported: ${reason}` })
        )
  return Result.map(validator, (validate) => (action) => {
    const { caller, kind, name, server } = action
    const hints = hintsOf(action)
    const isHint = (wanted: boolean | undefined, hint: boolean | undefined) => wanted === undefined || wanted === hint
    const isMatch =
      (rule.kind === undefined || isOneOf(rule.kind, kind)) &&
      (rule.server === undefined || matches(rule.server, server)) &&
      (rule.name === undefined || matches(rule.name, name)) &&
      (rule.source === undefined || isOneOf(rule.source, caller.source)) &&
      (rule.principal === undefined || (caller.principal !== undefined && matches(rule.principal, caller.principal))) &&
      isHint(rule.readOnly, hints?.readOnly) &&
      isHint(rule.destructive, hints?.destructive) &&
      isHint(rule.openWorld, hints?.openWorld) &&
      (validate === undefined || validate(action.input).length === 0)
    return Effect.succeed(isMatch ? decisionOf(rule, action) : undefined)
  })
}

/** Rules for actions that no other rule decides about. Reads are allowed. The user is asked about anything else that may change or reveal something. */
export const defaults: ReadonlyArray<PolicyRule> = [
  { decide: "allow", kind: ["read", "prompt"] },
  // The user sees the question anyway, and decides whether to answer.
  { decide: "allow", kind: "elicitation" },
  { decide: "allow", kind: "call", readOnly: true },
  { decide: "ask", kind: "call", destructive: true, reason: "The tool may change or delete data" },
  { decide: "ask", kind: "call", destructive: false, reason: "The tool may change data" },
  { decide: "ask", kind: "call", reason: "The tool does not say what it changes, or its server is not trusted" },
  { decide: "ask", kind: "sampling", reason: "The server asks for a response from your model" },
  { decide: "ask", kind: "roots", reason: "The server asks for the list of your folders" }
]

/** Decodes rules from JSON, for example from a file. */
export const decode = Schema.decodeUnknownEffect(Schema.Array(PolicyRule), { onExcessProperty: "error" })
