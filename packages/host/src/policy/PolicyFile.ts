/** A policy as a JSON file: rules, and the servers to trust. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { InvalidRule, PolicyRule, Patterns } from "./PolicyRule.ts"

/** The content of a policy file. Its fields are options of `HostPolicy`. */
export const PolicyFile = Schema.Struct({
  /** Names of servers whose hints and texts you trust, with `*` for any text. */
  trusted: Schema.optionalKey(Patterns),
  /** Names of servers whose results hold no private data. */
  publicData: Schema.optionalKey(Patterns),
  /** Rules, tried in order before the defaults. */
  rules: Schema.optionalKey(Schema.Array(PolicyRule))
})
export type PolicyFile = typeof PolicyFile.Type

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(PolicyFile), { onExcessProperty: "error" })

/** Reads a policy file. Fails if it is missing or has unknown fields, because a rule that is ignored protects nothing. */
export const read = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<PolicyFile, InvalidRule, FileSystem.FileSystem> {
  const files = yield* FileSystem.FileSystem
  const invalid = ({ message }: { readonly message: string }) =>
    new InvalidRule({ message: `Cannot use the policy ${path}: ${message}` })
  const text = yield* Effect.mapError(files.readFileString(path), invalid)
  return yield* Effect.mapError(decode(text), invalid)
})
